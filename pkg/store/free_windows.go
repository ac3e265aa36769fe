package store

import (
	"math"

	"golang.org/x/sys/windows"
)

// freeBytes tells how much may be written below a directory.
func freeBytes(dir string) (free int64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var bytes uint64
	if err := windows.GetDiskFreeSpaceEx(name, &bytes, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(bytes, math.MaxInt64)), true //nolint:gosec // bounded
}
