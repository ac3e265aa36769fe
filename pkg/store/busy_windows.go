package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isBusy reports whether a file could not be opened because another process has it open
// exclusively, for example a virus scanner.
func isBusy(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
