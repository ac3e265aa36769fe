package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// RoomError tells that a disk has less room than is needed. It is
// [syscall.ENOSPC] to [errors.Is], as when the disk had been filled.
type RoomError struct {
	// Needed and Free are in bytes.
	Needed, Free int64
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%v: %d bytes are needed, and %d are free", syscall.ENOSPC, e.Needed, e.Free)
}

// Unwrap gives [syscall.ENOSPC].
func (e *RoomError) Unwrap() error { return syscall.ENOSPC }

// CheckRoom refuses what the disk of a directory has no room for, before any of
// it is fetched: the error is a *[RoomError]. The directory may be still to be
// made; a negative size is not known. It is no promise, as others write to the
// disk too, and where the system does not tell its room all is allowed.
func CheckRoom(dir string, size int64) error {
	if free, known := room(existing(dir)); known && free < size {
		return &RoomError{Needed: size, Free: free}
	}
	return nil
}

// existing gives the directory, or the nearest above it that exists.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}
