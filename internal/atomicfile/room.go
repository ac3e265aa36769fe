package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CheckRoom refuses what the disk of a directory has no room for, before any of
// it is fetched: the error is [syscall.ENOSPC]. The directory may be still to be
// made; a negative size is not known. It is no promise, as others write to the
// disk too, and where the system does not tell its room all is allowed.
func CheckRoom(dir string, size int64) error {
	if free, known := room(existing(dir)); known && free < size {
		return fmt.Errorf("%w: %d bytes are needed, and %d are free", syscall.ENOSPC, size, free)
	}
	return nil
}

// existing returns the directory, or the nearest above it that exists.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}
