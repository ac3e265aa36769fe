package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// PutTree stores a copy of an unpacked package from a directory that no other process
// uses. If storing the copy fails, PutTree calls [Options.OnFailed]. If the store
// already has the package, the existing package is kept.
func (s *Store) PutTree(ctx context.Context, d digest.Digest, h Hashes, dir string) {
	if !s.isWritable() {
		return
	}
	final, ok := s.entryPath(nameUnpacked, d)
	if !ok {
		return
	}
	if _, err := os.Lstat(final); err == nil {
		return
	}
	if err := s.putTree(ctx, final, h, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		s.fail(fmt.Errorf("storing the unpacked package of %s: %w", d, err))
	}
}

func (s *Store) putTree(ctx context.Context, final string, h Hashes, dir string) error {
	if err := s.initialize(); err != nil {
		return err
	}
	from, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	files, err := atomicfile.ListFiles(from)
	if err != nil {
		return err
	}
	var size int64
	for _, f := range files {
		size += f.Stamp.Size()
	}
	// After the package is stored, the same amount of space must remain free.
	if err := s.checkSpace(size, 2); err != nil {
		return err
	}
	return s.addTree(final, func(dir string) (Hashes, error) {
		to, err := os.OpenRoot(dir)
		if err != nil {
			return h, err
		}
		defer to.Close()
		return h, atomicfile.CopyFiles(ctx, to, from, files, true)
	})
}

// addTree adds an unpacked package. fill writes the package's files to an empty
// directory.
func (s *Store) addTree(final string, fill func(dir string) (Hashes, error)) error {
	tmp, err := atomicfile.TempDir(filepath.Dir(final))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // cleans up after a failure
	dir := filepath.Join(tmp, nameFiles)
	if err := os.Mkdir(dir, modeDirectory); err != nil {
		return err
	}
	h, err := fill(dir)
	if err != nil {
		return err
	}
	files, err := protect(dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(treeRecord{h, files})
	if err != nil {
		return err
	}
	if err := errors.Join(s.write(filepath.Join(tmp, nameRecord), text), s.write(filepath.Join(tmp, nameLock), nil)); err != nil {
		return err
	}
	return atomicfile.CommitDir(tmp, final)
}

// protect makes the files read-only and lists them. Directories can contain links to
// the files, because tofu-oci 0.1.0 let clients create links. If the files were
// writable, a client such as Terraform could unpack a different zip into the store
// through a link.
func protect(dir string) ([]atomicfile.Entry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := atomicfile.ListFiles(root)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		name := filepath.FromSlash(f.Name)
		info, err := root.Stat(name)
		if err == nil {
			err = root.Chmod(name, info.Mode().Perm()&^0o222)
		}
		if err != nil {
			return nil, err
		}
	}
	return atomicfile.ListFiles(root)
}
