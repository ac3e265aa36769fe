//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// syncDirectory syncs a directory. Some network and FUSE file systems do not support
// this and return EINVAL or ENOTSUP. A crash can then lose a name, but never leaves an
// incomplete file.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// replace atomically renames a file and replaces an existing file.
func replace(from, to string) error { return os.Rename(from, to) }

// rename renames a file or directory to a name that does not exist.
func rename(from, to string) error { return os.Rename(from, to) }

// remove removes a file, or a directory with its content.
func remove(path string) error { return os.RemoveAll(path) }

// moveNew renames a file to a name that must not exist. Unlike renaming, creating a
// hard link never replaces an existing file. Therefore, moveNew links the file and
// removes the old name.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		// Both names refer to the same complete file. If the old name cannot be
		// removed, Sweep removes it later.
		_ = remove(from)
		return nil
	}
	if errors.Is(err, fs.ErrExist) || !noHardLinks(err) {
		return err
	}
	return moveUnlinked(from, to)
}

// moveUnlinked replaces moveNew on file systems without hard links, such as FAT and
// some network mounts. If another process creates the new name between the two steps,
// moveUnlinked replaces that process's file. Both files are complete.
func moveUnlinked(from, to string) error {
	if err := checkFree(to); err != nil {
		return err
	}
	return rename(from, to)
}

// noHardLinks reports whether linking failed because hard links are not supported.
// Linux returns EPERM for FAT, and Android returns EACCES for all of its storage.
func noHardLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EMLINK)
}
