package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// addPackage adds a package to the directory of a mirror as a symbolic link. If the
// system doesn't support symbolic links, it creates a hard link instead. For example,
// Windows users need a privilege to create symbolic links.
func (m *Mirror) addPackage(dir string, p MirrorPackage) error {
	target, _ := m.store.entryPath(nameBlobs, p.Zip)
	path := filepath.Join(dir, nameMirror, filepath.FromSlash(p.Path))
	err := m.link(path, target)
	if errors.Is(err, errLinkUnsupported) {
		err = hardLink(path, target, err)
		if !exists(target) && err != nil {
			return notCached(p) // unlike a symbolic link, a hard link requires the file
		}
	}
	return err
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
