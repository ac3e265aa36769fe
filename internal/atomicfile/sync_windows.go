package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errInvalidFunction is what Windows says when a file system, FAT or exFAT,
// lacks an operation.
const errInvalidFunction = syscall.Errno(1)

// syncDirectory does nothing: Windows has no such operation, NTFS journals its
// names.
func syncDirectory(string) error { return nil }

const (
	// errSharingViolation is what Windows says, as ERROR_ACCESS_DENIED, when a
	// file is to be replaced that someone has open.
	errSharingViolation = syscall.Errno(32)
	// replaceTries and replacePause bound the wait for readers to be done: they
	// read small files whole.
	replaceTries = 50
	replacePause = 20 * time.Millisecond
)

// replace renames a file over another. Windows refuses while anybody reads that,
// which passes.
func replace(from, to string) error {
	var err error
	for range replaceTries {
		if err = os.Rename(from, to); !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, errSharingViolation) {
			return err
		}
		time.Sleep(replacePause)
	}
	return err
}

func noHardLinksHere(err error) bool { return errors.Is(err, errInvalidFunction) }
