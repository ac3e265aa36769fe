package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// ErrChanged means that a file has changed since it was read.
var ErrChanged = errors.New("changed by another program")

// errDangling means that a symbolic link refers to a missing file.
var errDangling = errors.New("dangling symbolic link")

// UserFile is the content of a user's file that other programs also read.
// [UserFile.Replace] preserves symbolic links and the owner, and fails if the file has
// changed.
type UserFile struct {
	// Place is the absolute path, with symbolic links resolved.
	Place string
	// Text is the content. It is empty if the file does not exist.
	Text []byte

	limit int64
	// info is nil if the file does not exist.
	info fs.FileInfo
}

// Resolve returns a file's absolute path with symbolic links resolved. The file does
// not need to exist, but if it is a link, the target must exist.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		return filepath.Join(dir, filepath.Base(path)), err
	}
	place, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &fs.PathError{Op: "open", Path: path, Err: errDangling}
	}
	return place, err
}

// ReadUserFile reads a file of up to limit bytes. The file does not need to exist.
// ReadUserFile returns file system errors and the errors from [bounded.ReadFile].
func ReadUserFile(path string, limit int64) (*UserFile, error) {
	place, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	f := &UserFile{Place: place, limit: limit}
	if f.info, err = os.Stat(place); errors.Is(err, fs.ErrNotExist) {
		f.info = nil
		return f, nil
	} else if err != nil {
		return nil, err
	}
	f.Text, err = bounded.ReadFile(place, limit)
	return f, err
}

// Exists reports whether the file existed.
func (f *UserFile) Exists() bool { return f.info != nil }

// Mode returns the file's mode, or the given mode if the file did not exist.
func (f *UserFile) Mode(otherwise fs.FileMode) fs.FileMode {
	if f.info == nil {
		return otherwise
	}
	return f.info.Mode().Perm()
}

// Replace replaces the file's content. The umask applies to mode. If the content is
// unchanged, Replace writes nothing. Empty content for a missing file is treated as
// unchanged. Replace returns file system errors and [ErrChanged].
func (f *UserFile) Replace(text []byte, mode fs.FileMode) error {
	if bytes.Equal(text, f.Text) {
		return nil
	}
	now, err := ReadUserFile(f.Place, f.limit)
	if err != nil {
		return err
	}
	if now.Exists() != f.Exists() || !bytes.Equal(now.Text, f.Text) {
		return fmt.Errorf("%s: %w", f.Place, ErrChanged)
	}
	err = WriteFile(f.Place, mode, text)
	if err != nil || !f.Exists() {
		return err
	}
	return restoreOwner(f.Place, f.info)
}
