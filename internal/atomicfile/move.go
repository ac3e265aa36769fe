package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// moveNew renames a file to a name that must be free. A rename would replace
// what is there and a hard link never does, so the file is linked and the old
// name removed.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		// Both names are the same whole file now. An old name that stays is
		// litter, which Sweep collects, and no reason to fail.
		_ = os.Remove(from)
		return nil
	}
	if errors.Is(err, fs.ErrExist) || !noHardLinks(err) {
		return err
	}
	return moveUnlinked(from, to)
}

// moveUnlinked is for file systems without hard links, such as FAT and some
// network mounts. Between its two steps another process may take the name; the
// file that it put there is then replaced, by one as whole as it was.
func moveUnlinked(from, to string) error {
	if err := checkFree(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// noHardLinks tells whether linking failed for want of the feature. Linux
// reports EPERM for FAT, and Android EACCES for all of its storage.
func noHardLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.EMLINK) || noHardLinksHere(err)
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
