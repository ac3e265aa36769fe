// Package atomicfile makes files and directories that are whole or not there:
// content grows under a temporary name beside its destination, reaches the
// disk, and only then gets its final name. Whoever looks at the final name, at
// any time and after any crash, sees nothing half-written.
package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// directoryMode is for directories made on the way; the umask narrows it.
	directoryMode = 0o755
	// maxTries is how often a directory is made that is gone again.
	maxTries = 100
)

// File is a file in the making. It ends in [File.Commit], [File.CommitNew] or
// [File.Discard]. Its errors name the final path, not the temporary one, and
// wrap what the operating system said, ENOSPC for instance. It is not safe for
// concurrent use.
type File struct {
	f         *os.File
	final     string
	writeback Writeback
	// broken is the first failed write. Committing after it would give a name
	// to a file with a hole.
	broken error
	ended  bool
}

// Create starts a file that will be at path, with the mode less the umask.
// Parent directories are made as needed.
func Create(path string, mode fs.FileMode) (*File, error) {
	return create(path, mode, createExclusive)
}

// Clone starts a file as [Create] does, with the content of src: of the same
// blocks on the disk where the file system can do that.
func Clone(ctx context.Context, path string, mode fs.FileMode, src *os.File) (*File, error) {
	return create(path, mode, func(name string, mode fs.FileMode) (*os.File, error) {
		root, err := os.OpenRoot(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return CloneIn(ctx, root, filepath.Base(name), mode, src)
	})
}

// Write makes the file at path, replacing one that is there, out of what fill
// writes. When fill or anything after it fails, path is as it was before.
func Write(path string, mode fs.FileMode, fill func(w io.Writer) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

func create(path string, mode fs.FileMode, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	dir := filepath.Dir(path)
	for tries := 1; ; tries++ {
		err := os.MkdirAll(dir, directoryMode)
		if err == nil {
			var f *os.File
			if f, err = open(temporaryName(dir), mode); err == nil {
				return &File{f: f, final: path}, nil
			}
		}
		// Who made the directory for nothing may have removed it meanwhile. Between
		// two looks at it that is ErrExist as well.
		if tries == maxTries || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return nil, unnamed(err, path)
		}
	}
}

// unnamed lets an error speak of the path that was meant, where it speaks of a
// temporary name beside it.
func unnamed(err error, final string) error {
	path, ok := errors.AsType[*fs.PathError](err)
	if ok && strings.HasPrefix(filepath.Base(path.Path), temporaryPrefix) {
		return &fs.PathError{Op: "create", Path: final, Err: path.Err}
	}
	return err
}

// createExclusive differs from os.CreateTemp in leaving the mode to the umask:
// files for others to read must not end up with a temporary file's 0600.
func createExclusive(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// Write appends to the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	if err != nil && f.broken == nil {
		f.broken = f.named(err)
	}
	f.writeback.Wrote(f.f, n)
	return n, f.named(err)
}

// ReadAt reads back what was written.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.f.ReadAt(p, offset)
	return n, f.named(err)
}

// Commit moves the file to its final name, replacing a file that is there.
func (f *File) Commit() error {
	return f.commit(replace)
}

// CommitNew moves the file to its final name unless that is taken: then the error
// is [fs.ErrExist] and what is there stays as it is.
func (f *File) CommitNew() error {
	return f.commit(moveNew)
}

// Discard removes the file unless it was committed. It may be called at any
// time and more than once. What it cannot remove, a later [Sweep] can.
func (f *File) Discard() {
	if f.ended {
		return
	}
	f.ended = true
	_ = f.f.Close()
	_ = remove(f.f.Name())
}

func (f *File) commit(move func(from, to string) error) error {
	if f.ended {
		return &fs.PathError{Op: "commit", Path: f.final, Err: fs.ErrClosed}
	}
	defer f.Discard()
	if f.broken != nil {
		return f.broken
	}
	// Closed on every path here, and before the move: Windows moves no open file.
	if err := errors.Join(f.f.Sync(), f.f.Close()); err != nil {
		return f.named(err)
	}
	if err := move(f.f.Name(), f.final); err != nil {
		return fmt.Errorf("naming %s: %w", f.final, err)
	}
	f.ended = true
	return syncDirectory(filepath.Dir(f.final))
}

// named lets an error speak of the final path.
func (f *File) named(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &fs.PathError{Op: path.Op, Path: f.final, Err: path.Err}
	}
	return err
}
