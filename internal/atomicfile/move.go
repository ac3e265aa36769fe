package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Link creates path as a second name of file, atomically replacing an existing file.
func Link(file, path string) error {
	tmp := temporaryName(filepath.Dir(path))
	if err := os.Link(file, tmp); err != nil {
		return err
	}
	// Renaming has no effect if both names refer to the same file.
	defer func() { _ = remove(tmp) }()
	return replace(tmp, path)
}

// checkFree returns [fs.ErrExist] if path exists, even as a dangling symbolic link.
func checkFree(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
