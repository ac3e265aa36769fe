//go:build !linux && !darwin && !windows

package atomicfile

// room is not supported.
func room(string) (free int64, known bool) { return 0, false }
