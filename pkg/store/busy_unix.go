//go:build !windows

package store

// isBusy reports whether a file could not be opened because another process has it
// open. On this system, this never happens.
func isBusy(error) bool { return false }
