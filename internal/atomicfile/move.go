package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Link makes a second name, path, of a file, in place of a file that is there: at any
// time there is one of the two.
func Link(file, path string) error {
	tmp := temporaryName(filepath.Dir(path))
	if err := os.Link(file, tmp); err != nil {
		return err
	}
	// Two names of one file are not renamed to each other.
	defer func() { _ = remove(tmp) }()
	return replace(tmp, path)
}

// checkFree reports [fs.ErrExist] when there is anything at path, be it a
// dangling symbolic link.
func checkFree(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
