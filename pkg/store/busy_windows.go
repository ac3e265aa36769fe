package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isBusy reports whether a file could not be opened since somebody else has it open, who
// lets nobody else: a virus scanner for instance, or who removes another name of it.
func isBusy(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
