package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// reflink makes dst share the blocks of src. See FICLONE in ioctl_ficlone(2).
func reflink(_ *os.Root, _ string, dst, src *os.File) (*os.File, error) {
	to, err := dst.SyscallConn()
	if err != nil {
		return nil, err
	}
	from, err := src.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failure error
	outer := to.Control(func(dst uintptr) {
		inner := from.Control(func(src uintptr) { failure = unix.IoctlFileClone(int(dst), int(src)) })
		if inner != nil {
			failure = inner
		}
	})
	if outer != nil {
		return nil, outer
	}
	return dst, failure
}
