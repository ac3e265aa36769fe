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

// addPackage adds a package to the directory of a mirror as symbolic links. If the
// system doesn't support symbolic links, it creates hard links to the files in the
// store instead. For example, Windows users need a privilege to create symbolic links.
// Junctions can't be used, because Go programs don't treat them as directories.
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
				return notCached(p) // unlike a symbolic link, a hard link requires the file
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
		return nil // a client has created the directory
	}
	return m.link(plugin, target)
}

// errLinkUnsupported is returned if the system can't create symbolic links.
var errLinkUnsupported = errors.New("creating a link")

// link creates a relative link to an entry in the store, so that the store can be
// moved. The link also works after the temporary directory of a mirror is renamed,
// because the final directory has the same depth.
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
	// 1. Keep the link if another process has created it first.
	if there, err := os.Readlink(path); err == nil && there == relative {
		return nil
	}
	// 2. Replace any other file, because only the store creates files in this
	// directory.
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := m.store.symlink(relative, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", errLinkUnsupported, err)
	}
	return nil
}

// hardLinkTree creates a separate directory with hard links to the files of an unpacked
// package.
func (m *Mirror) hardLinkTree(ctx context.Context, dir, target string, t *Tree) error {
	if isHardLinked(dir, target, t.record.Files) {
		return nil
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
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
		// The existing directory has been modified.
		if err := atomicfile.RemoveDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err = atomicfile.CommitDir(tmp, dir)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process has created the directory first
	}
	return err
}

// isHardLinked reports whether a directory contains hard links to exactly the files of
// a package.
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

// hardLink creates a hard link to a file in the store. If creating the link fails, the
// error includes problem, which explains why no symbolic link could be created.
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
