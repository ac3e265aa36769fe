package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CheckFreeSpace returns [syscall.ENOSPC] if a directory's disk has less than size bytes
// of free space. The check prevents futile downloads, but does not reserve space. The
// directory does not need to exist. A negative size means that the size is unknown. If
// the free space is unknown, CheckFreeSpace returns nil.
func CheckFreeSpace(dir string, size int64) error {
	if free, known := room(existing(dir)); known && free < size {
		return fmt.Errorf("%w: %d bytes required, %d available", syscall.ENOSPC, size, free)
	}
	return nil
}

// existing returns dir or, if dir does not exist, its nearest existing parent.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}
