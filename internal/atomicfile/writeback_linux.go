package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// begin starts writing a part of a file to the disk without waiting, so that a later
// fsync is faster.
func begin(f *os.File, offset, length int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	// This call is only a hint. fsync reports disk errors.
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), offset, length, unix.SYNC_FILE_RANGE_WRITE)
	})
}
