//go:build linux || darwin

package store

import (
	"math"

	"golang.org/x/sys/unix"
)

// freeBytes tells how much may be written below a directory.
func freeBytes(dir string) (free int64, known bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Bsize <= 0 {
		return 0, false
	}
	size := int64(stat.Bsize)                              //nolint:unconvert // it is shorter on macOS
	blocks := min(stat.Bavail, uint64(math.MaxInt64/size)) //nolint:gosec // positive
	return int64(blocks) * size, true                      //nolint:gosec // bounded above
}
