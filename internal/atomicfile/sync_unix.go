//go:build !windows

package atomicfile

import (
	"errors"
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

// noHardLinksHere: Unix has no further words for it.
func noHardLinksHere(error) bool { return false }

// replace renames a file over another in one step.
func replace(from, to string) error { return os.Rename(from, to) }
