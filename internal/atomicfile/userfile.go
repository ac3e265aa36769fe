package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// ErrChanged says that a file is not as it was read.
var ErrChanged = errors.New("another program has changed it meanwhile")

// errDangling is a link that leads nowhere: where to, only who made it knows.
var errDangling = errors.New("it is a link to a file that is not there")

// UserFile is a user's file that other programs read too, as it was read. Replacing it
// keeps links and the owner, and fails if the file has changed since.
type UserFile struct {
	// Place is its absolute path, behind links.
	Place string
	// Text is empty for a file that is not there.
	Text []byte

	limit int64
	// info is nil for a file that is not there.
	info fs.FileInfo
}

// Resolve returns the absolute path of the file that a path leads to over links. The file
// need not be there, but what a link leads to has to be.
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

// ReadUserFile reads a file of at most limit bytes, or learns that there is none. Errors are
// those of the file system and of [bounded.ReadFile].
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

// Exists reports whether the file was there.
func (f *UserFile) Exists() bool { return f.info != nil }

// Mode is that of the file, or the other where there is none.
func (f *UserFile) Mode(otherwise fs.FileMode) fs.FileMode {
	if f.info == nil {
		return otherwise
	}
	return f.info.Mode().Perm()
}

// Replace writes a text in the file's place, with a mode less the umask. Where it is as
// it was, nothing is written, and no empty file where there is none. Errors are those of the file system, and [ErrChanged].
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
	err = Write(f.Place, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil || !f.Exists() {
		return err
	}
	return giveBack(f.Place, f.info)
}
