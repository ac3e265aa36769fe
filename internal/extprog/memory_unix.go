//go:build unix && !linux

package extprog

// PeakMemory would be the most that the first process has had so far: these systems
// do not tell it of a process that runs.
func (*Group) PeakMemory() int64 { return 0 }
