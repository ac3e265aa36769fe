// Package atomicfile creates files and directories atomically. It writes content to a
// temporary file next to the destination, syncs the file to the disk, and then renames
// it. Therefore, other processes never see incomplete content under the final name,
// even after a crash.
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
	// directoryMode is the mode of created parent directories. The umask applies.
	directoryMode = 0o755
	// maxTries is the maximum number of attempts to create a file in a directory that
	// other processes remove.
	maxTries = 100
)

// File is a file that is being written. The caller must call [File.Commit],
// [File.CommitNew], or [File.Discard]. Errors contain the final path instead of the
// temporary path, and wrap operating system errors such as ENOSPC. A File is not safe
// for concurrent use.
type File struct {
	f         *os.File
	final     string
	writeback Writeback
	// broken is the error from the first failed write. After this error, the file is
	// incomplete and must not be committed.
	broken error
	ended  bool
}

// Create starts a file that [File.Commit] will rename to path. The umask applies to
// mode. Create also creates missing parent directories.
func Create(path string, mode fs.FileMode) (*File, error) {
	return create(path, mode, createExclusive)
}

// Copy is like [Create], but the new file starts with a copy of the content of src.
func Copy(ctx context.Context, path string, mode fs.FileMode, src *os.File) (*File, error) {
	f, err := Create(path, mode)
	if err != nil {
		return nil, err
	}
	if err := copyAll(ctx, f.f, src); err != nil {
		f.Discard()
		return nil, unnamed(err, path)
	}
	return f, nil
}

// Write creates or replaces the file at path with the output of fill. If fill or a
// later step fails, the existing file remains unchanged.
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

// WriteFile creates or replaces the file at path with the given content, like [Write].
func WriteFile(path string, mode fs.FileMode, content []byte) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func create(path string, mode fs.FileMode, open func(name string, mode fs.FileMode) (*os.File, error)) (*File, error) {
	dir := filepath.Dir(path)
	for tries := 1; ; tries++ {
		err := os.MkdirAll(dir, directoryMode)
		if err == nil {
			var f *os.File
			if f, err = open(uniqueName(dir, lockedPrefix), mode); err == nil {
				if err = lockFile(f); err == nil {
					return &File{f: f, final: path}, nil
				}
				_ = f.Close()
			}
		}
		// Another process might have removed the directory after it was created, or the
		// file before it was locked. The removal can also cause ErrExist.
		if tries == maxTries || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return nil, unnamed(err, path)
		}
	}
}

// unnamed replaces the temporary name in an error with the final path.
func unnamed(err error, final string) error {
	path, ok := errors.AsType[*fs.PathError](err)
	if ok && strings.HasPrefix(filepath.Base(path.Path), temporaryPrefix) {
		return &fs.PathError{Op: "create", Path: final, Err: path.Err}
	}
	return err
}

// createExclusive is like os.CreateTemp, but the umask determines the mode.
// os.CreateTemp would always use mode 0600, which prevents other users from reading the
// file.
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

// ReadAt reads bytes that have already been written.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.f.ReadAt(p, offset)
	return n, f.named(err)
}

// Commit renames the file to its final name and replaces any existing file.
func (f *File) Commit() error {
	return f.commit(replace)
}

// CommitNew renames the file to its final name. If a file with that name exists,
// CommitNew changes nothing and returns [fs.ErrExist].
func (f *File) CommitNew() error {
	return f.commit(moveNew)
}

// Discard removes the file if it was not committed. It can be called at any time and
// more than once. If it fails, a later [Sweep] removes the file.
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
	err := f.f.Sync()
	if !renamesOpenFiles {
		err = errors.Join(err, f.f.Close())
	}
	if err != nil {
		return f.named(err)
	}
	if err := move(f.f.Name(), f.final); err != nil {
		return fmt.Errorf("renaming a temporary file to %s: %w", f.final, err)
	}
	f.ended = true
	_ = f.f.Close()
	return syncDirectory(filepath.Dir(f.final))
}

// named replaces the temporary name in an error with the final path.
func (f *File) named(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &fs.PathError{Op: path.Op, Path: f.final, Err: path.Err}
	}
	return err
}
