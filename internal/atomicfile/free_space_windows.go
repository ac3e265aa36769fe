package atomicfile

import (
	"math"

	"golang.org/x/sys/windows"
)

// room returns the number of bytes that this user can write. It respects quotas.
func room(dir string) (free int64, known bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var available uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(available, math.MaxInt64)), true //nolint:gosec // cannot overflow
}
