package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Link creates path as a hard link to file. It atomically replaces an existing file.
func Link(file, path string) error {
	tmp := temporaryName(filepath.Dir(path))
	if err := os.Link(file, tmp); err != nil {
		return err
	}
	// If both names refer to the same file, renaming keeps the temporary name.
	defer func() { _ = remove(tmp) }()
	return replace(tmp, path)
}

// checkFree returns [fs.ErrExist] if path exists. A dangling symbolic link is treated as
// existing.
func checkFree(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}
