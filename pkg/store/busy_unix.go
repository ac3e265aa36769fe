//go:build !windows

package store

// isBusy reports whether a file could not be opened because another process has it open. That
// doesn't happen on this system.
func isBusy(error) bool { return false }
