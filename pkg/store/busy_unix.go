//go:build !windows

package store

// isBusy reports whether a file could not be opened since somebody else has it open,
// which keeps nobody from it here.
func isBusy(error) bool { return false }
