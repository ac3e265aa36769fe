package atomicfile

import (
	"errors"
	"syscall"
)

// errInvalidFunction is what Windows says when a file system, FAT or exFAT,
// lacks an operation.
const errInvalidFunction = syscall.Errno(1)

// syncDirectory does nothing: Windows has no such operation, NTFS journals its
// names.
func syncDirectory(string) error { return nil }

func noHardLinksHere(err error) bool { return errors.Is(err, errInvalidFunction) }
