//go:build linux || darwin

package atomicfile

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// room returns the number of bytes that this process can write. Some network and FUSE
// file systems report a total of zero blocks. room treats this total as unknown.
func room(dir string) (free int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Blocks == 0 || fs.Bsize <= 0 {
		return 0, false
	}
	blocks := fs.Bavail
	if os.Geteuid() == 0 {
		blocks = fs.Bfree // includes the blocks reserved for root
	}
	size := uint64(fs.Bsize)
	if blocks > math.MaxInt64/size {
		return math.MaxInt64, true
	}
	return int64(blocks * size), true //nolint:gosec // the range has already been checked
}
