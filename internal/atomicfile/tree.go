package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// copyConcurrency is the number of files that [CopyFiles] copies concurrently.
const copyConcurrency = 8

// Modes of copied files and directories. The umask applies.
const (
	copiedFile       fs.FileMode = 0o644
	copiedExecutable fs.FileMode = 0o755
	copiedDirectory  fs.FileMode = 0o755
)

// Entry describes a file or directory below the root directory of [ListFiles].
type Entry struct {
	// Name is the relative path with forward slashes. A directory's name ends with a
	// slash.
	Name string `json:"name"`
	// Stamp is the zero value for a directory.
	Stamp      Stamp `json:"stamp"`
	Executable bool  `json:"executable,omitempty"`
}

// IsDir reports whether f is a directory.
func (f Entry) IsDir() bool { return f.Name[len(f.Name)-1] == '/' }

// ListFiles returns all entries below root, with directories before their contents. If
// an entry is neither a file nor a directory, it returns an error.
func ListFiles(root *os.Root) ([]Entry, error) {
	var all []Entry
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.IsDir():
			all = append(all, Entry{Name: name + "/"})
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all = append(all, Entry{name, StampOf(info), info.Mode()&0o111 != 0})
		return nil
	})
	return all, err
}

// CopyFiles copies the listed files to an empty directory. If flush is set, it flushes
// them to the disk. If a file differs from its description before or after the copy,
// CopyFiles returns [ErrChanged].
func CopyFiles(ctx context.Context, to, from *os.Root, files []Entry, flush bool) error {
	for _, f := range files {
		dir := path.Dir(f.Name)
		if err := to.MkdirAll(filepath.FromSlash(dir), copiedDirectory); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copyConcurrency)
	for _, f := range files {
		if !f.IsDir() {
			group.Go(func() error { return copyFile(ctx, to, from, f, flush) })
		}
	}
	return group.Wait()
}

func copyFile(ctx context.Context, to, from *os.Root, f Entry, flush bool) error {
	name := filepath.FromSlash(f.Name)
	src, err := from.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", f.Name, ErrChanged, err)
	}
	defer src.Close()
	if err := f.check(src); err != nil {
		return err
	}
	mode := copiedFile
	if f.Executable {
		mode = copiedExecutable
	}
	dst, err := CopyIn(ctx, to, name, mode, src)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := f.check(src); err != nil {
		return err
	}
	if flush {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// check returns [ErrChanged] if the open file differs from its description.
func (f Entry) check(src *os.File) error {
	info, err := src.Stat()
	if err == nil && StampOf(info) == f.Stamp {
		return nil
	}
	return fmt.Errorf("%s: %w", f.Name, errors.Join(ErrChanged, err))
}
