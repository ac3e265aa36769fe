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

// Unpack adds what the zip of a digest unpacks to, and is for who needs it nowhere
// else: fill puts the files into an empty directory of the store, on the disk and
// verified, and tells their hashes. A package that is there stays. Nobody may write
// to the files from then on.
func (s *Store) Unpack(ctx context.Context, d digest.Digest, fill func(dir string) (Hashes, error)) error {
	final, ok := s.entryPath(nameUnpacked, d)
	if !ok {
		return fmt.Errorf("%q is no digest of a zip", d)
	}
	if err := s.initialize(); err != nil {
		return err
	}
	err := s.addTree(final, fill)
	if errors.Is(err, fs.ErrExist) {
		return ctx.Err() // another process was faster
	}
	return err
}

// PutTree keeps a copy of what the zip of a digest unpacked to, in a directory that
// nobody else has to do with yet. That this fails is told to [Options.OnFailed]. A
// package that is there stays.
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
		s.fail(fmt.Errorf("keeping what %s unpacks to: %w", d, err))
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
	// As much again is left for others.
	if err := s.checkSpace(size, 2); err != nil {
		return err
	}
	return s.addTree(final, func(dir string) (Hashes, error) {
		to, err := os.OpenRoot(dir)
		if err != nil {
			return h, err
		}
		defer to.Close()
		return h, atomicfile.CopyFiles(ctx, to, from, files)
	})
}

// addTree makes an unpacked package of the files that fill puts into an empty directory.
func (s *Store) addTree(final string, fill func(dir string) (Hashes, error)) error {
	tmp, err := atomicfile.TempDir(filepath.Dir(final))
	if err != nil {
		return err
	}
	defer atomicfile.DiscardDir(tmp) // what remains after a failure
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

// protect takes the permission to write away from files that others link to, and
// lists them. It keeps a client from unpacking another zip through such a link, as
// Terraform would.
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
