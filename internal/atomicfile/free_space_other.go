//go:build !linux && !darwin && !windows

package atomicfile

// room cannot determine the free space on this system.
func room(string) (free int64, known bool) { return 0, false }
