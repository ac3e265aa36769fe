//go:build unix && !linux

package extprog

// PeakMemory returns 0, because these systems do not report the peak memory of a
// running process.
func (*Group) PeakMemory() int64 { return 0 }
