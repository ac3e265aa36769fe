package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CheckRoom returns [syscall.ENOSPC] if the disk of a directory does not have size
// bytes of free space, so that nothing is downloaded in vain. The directory does not
// have to exist. A negative size means that the size is unknown. The check does not
// reserve space. If the free space is unknown, CheckRoom returns nil.
func CheckRoom(dir string, size int64) error {
	if free, known := room(existing(dir)); known && free < size {
		return fmt.Errorf("%w: %d bytes required, %d available", syscall.ENOSPC, size, free)
	}
	return nil
}

// existing returns the directory, or its nearest existing parent.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}
