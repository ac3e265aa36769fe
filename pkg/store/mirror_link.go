package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// put has a package in a mirror's directory: as links, or where the system makes
// none, as files that are those of the store by another name. That is so on Windows
// for users without the right to make links; a junction would be no help, since Go
// programs don't take it for a directory.
func (m *Mirror) addPackage(ctx context.Context, dir string, p MirrorPackage) error {
	target, _ := m.store.entryPath(nameBlobs, p.Zip)
	if !p.Packed {
		unpacked, _ := m.store.entryPath(nameUnpacked, p.Zip)
		target = filepath.Join(unpacked, nameFiles)
	}
	path := filepath.Join(dir, nameMirror, filepath.FromSlash(p.Path))
	err := m.link(path, target)
	if errors.Is(err, errLinkUnsupported) {
		m.linked = false
		if p.Packed {
			err := hardLink(path, target, err)
			if !exists(target) && err != nil {
				return notCached(p) // a link would lead nowhere, a second name is not made
			}
			return err
		}
		return m.hardLinkTree(ctx, path, target, m.trees[p.Zip])
	}
	if err != nil || p.Packed {
		return err
	}
	plugin := filepath.Join(dir, namePlugins, filepath.FromSlash(p.Path))
	if info, err := os.Lstat(plugin); err == nil && info.IsDir() {
		return nil // which a client put there
	}
	return m.link(plugin, target)
}

// errNoLink says that the system makes no link.
var errLinkUnsupported = errors.New("making a link")

// link has a link to a target of the store at path. It is relative, so that a store
// can move; a mirror in the making lies as deep as it will.
func (m *Mirror) link(path, target string) error {
	relative, err := filepath.Rel(filepath.Dir(path), target)
	if err != nil {
		return err
	}
	there, err := os.Readlink(path)
	if err == nil && there == relative {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), modeDirectory); err != nil {
		return err
	}
	made := m.store.symlink(relative, path)
	if !errors.Is(made, fs.ErrExist) {
		if made != nil {
			return fmt.Errorf("%w: %w", errLinkUnsupported, made)
		}
		return nil
	}
	// 1. Another process was faster.
	if there, err := os.Readlink(path); err == nil && there == relative {
		return nil
	}
	// 2. Or something else is there, where nobody else has to put anything.
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := m.store.symlink(relative, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", errLinkUnsupported, err)
	}
	return nil
}

// shareTree has the files of an unpacked package in a directory of their own.
func (m *Mirror) hardLinkTree(ctx context.Context, dir, target string, t *Tree) error {
	if isHardLinked(dir, target, t.record.Files) {
		return nil
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // what remains after a failure
	for _, f := range t.record.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := filepath.FromSlash(f.Name)
		if f.IsDir() {
			if err := os.MkdirAll(filepath.Join(tmp, name), modeDirectory); err != nil {
				return err
			}
		} else if err := hardLink(filepath.Join(tmp, name), filepath.Join(target, name), nil); err != nil {
			return err
		}
	}
	err = atomicfile.CommitDir(tmp, dir)
	if errors.Is(err, fs.ErrExist) && !isHardLinked(dir, target, t.record.Files) {
		// What is there is not what was put there once.
		if err := atomicfile.RemoveDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = atomicfile.CommitDir(tmp, dir)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// isShared reports whether a directory has the files of a package, and no others.
func isHardLinked(dir, target string, files []atomicfile.Entry) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	there, err := atomicfile.ListFiles(root)
	if err != nil || len(there) != len(files) {
		return false
	}
	for i, f := range files {
		if there[i].Name != f.Name || !f.IsDir() && !same(filepath.Join(dir, f.Name), filepath.Join(target, f.Name)) {
			return false
		}
	}
	return true
}

func same(path, target string) bool {
	a, err := os.Lstat(path)
	if err != nil {
		return false
	}
	b, err := os.Lstat(target)
	return err == nil && os.SameFile(a, b)
}

// share makes a second name of a file of the store. The first problem, that of making
// a link, is told where that is not possible either.
func hardLink(path, target string, problem error) error {
	if err := os.MkdirAll(filepath.Dir(path), modeDirectory); err != nil {
		return err
	}
	err := os.Link(target, path)
	if errors.Is(err, fs.ErrExist) && !same(path, target) {
		err = atomicfile.Link(target, path)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(problem, err)
}
