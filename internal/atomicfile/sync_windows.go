package atomicfile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// syncDirectory does nothing: Windows has no such operation, NTFS journals its
// names.
func syncDirectory(string) error { return nil }

const (
	// tries and pause bound the wait for those who have it open: they read small files
	// whole, or look for viruses in what was just written.
	tries = 50
	pause = 20 * time.Millisecond
)

// replace renames a file over another. Windows refuses while anybody reads that,
// which passes.
func replace(from, to string) error {
	return renameWhile(from, to, os.Rename, func() bool { return true })
}

// rename moves a file or directory to a name that is free. Windows refuses while
// anybody has it, or a file in it, open, which passes; a taken name does not.
func rename(from, to string) error {
	return renameWhile(from, to, os.Rename, func() bool { return checkFree(to) == nil })
}

// moveNew renames a file to a name that must be free: the system sees to that. A hard
// link, as elsewhere, would have a name to remove, and while that goes on nobody can
// open the file by the other.
func moveNew(from, to string) error {
	return renameWhile(from, to, moveFile, func() bool { return checkFree(to) == nil })
}

// moveFile renames a file, and replaces none.
func moveFile(from, to string) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(to)
	if err == nil {
		err = windows.MoveFileEx(old, name, 0)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// remove removes a file or a directory with all below it. Windows refuses while anybody
// has a file open, be it by another of its names, which passes.
func remove(path string) error {
	return whileOpen(func() error { return os.RemoveAll(path) }, func() bool { return true })
}

// renameWhile tries again while the system says that something is open, and another
// try makes sense.
func renameWhile(from, to string, move func(from, to string) error, again func() bool) error {
	return whileOpen(func() error { return move(from, to) }, again)
}

func whileOpen(do func() error, again func() bool) error {
	var err error
	for range tries {
		if err = do(); !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) || !again() {
			return err
		}
		time.Sleep(pause)
	}
	return err
}
