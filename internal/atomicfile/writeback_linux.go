package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// begin lets the kernel begin to write a part of a file to the disk,
// without waiting for it. A later fsync then has less to wait for.
func begin(f *os.File, offset, length int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	// It is a hint: what goes wrong with the disk is seen by fsync.
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), offset, length, unix.SYNC_FILE_RANGE_WRITE)
	})
}
