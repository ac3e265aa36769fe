//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// syncDirectory brings a directory's names to the disk. Some network and FUSE
// file systems can't and say EINVAL or ENOTSUP; a crash may then lose a name,
// never half a file.
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

// replace renames a file over another in one step.
func replace(from, to string) error { return os.Rename(from, to) }

// rename moves a file or directory to a name that is free.
func rename(from, to string) error { return os.Rename(from, to) }

// remove removes a file or a directory with all below it.
func remove(path string) error { return os.RemoveAll(path) }

// moveNew renames a file to a name that must be free. A rename would replace
// what is there and a hard link never does, so the file is linked and the old
// name removed.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		// Both names are the same whole file now. An old name that stays is
		// litter, which Sweep collects, and no reason to fail.
		_ = remove(from)
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
	return rename(from, to)
}

// noHardLinks reports whether linking failed for want of the feature. Linux
// reports EPERM for FAT, and Android EACCES for all of its storage.
func noHardLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EMLINK)
}
