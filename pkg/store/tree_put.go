package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"
)

// PutTree keeps a copy of what the zip of a digest unpacked to, in a directory that
// nobody else has to do with yet. That this fails is told to [Options] Failed. A
// package that is there stays.
func (s *Store) PutTree(ctx context.Context, d digest.Digest, h Hashes, dir string) {
	if !s.keeps() {
		return
	}
	final, ok := s.place(nameUnpacked, d)
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
	if err := s.begin(); err != nil {
		return err
	}
	from, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	files, err := list(from)
	if err != nil {
		return err
	}
	// As much again is left for others.
	if err := s.space(sizeOf(files), 2); err != nil {
		return err
	}
	return s.addTree(final, func(dir string) (Hashes, error) { return h, copyInto(ctx, dir, from, files) })
}

// copyInto copies files into a directory that it makes.
func copyInto(ctx context.Context, dir string, from *os.Root, files []listed) error {
	if err := os.Mkdir(dir, modeDirectory); err != nil {
		return err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	return copyFiles(ctx, to, from, files)
}
