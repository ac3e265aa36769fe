//go:build !windows

package store

// isBusy reports whether a file could not be opened because another process has it
// open. This happens only on Windows.
func isBusy(error) bool { return false }
