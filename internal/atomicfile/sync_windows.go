package atomicfile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// syncDirectory does nothing, because Windows cannot sync directories. NTFS journals
// file names.
func syncDirectory(string) error { return nil }

const (
	// tries and pause limit the wait for processes that have the file open, such as
	// readers of small files and virus scanners.
	tries = 50
	pause = 20 * time.Millisecond
)

// replace renames a file and replaces an existing file. Windows rejects this while the
// existing file is open, so replace waits.
func replace(from, to string) error {
	return renameWhile(from, to, os.Rename, func() bool { return true })
}

// rename renames a file or directory to a name that does not exist. Windows rejects
// this while the file, or a file in the directory, is open, so rename waits.
func rename(from, to string) error {
	return renameWhile(from, to, os.Rename, func() bool { return checkFree(to) == nil })
}

// moveNew renames a file to a name that must not exist. The system enforces this. It
// does not use a hard link, because the file could not be opened by its new name while
// the old name is being removed.
func moveNew(from, to string) error {
	return renameWhile(from, to, moveFile, func() bool { return checkFree(to) == nil })
}

// moveFile renames a file without replacing an existing file.
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

// remove removes a file, or a directory with its content. Windows rejects the removal
// while a file is open, even by a different name, so remove waits.
func remove(path string) error { return removeWhile(path, func() bool { return true }) }

// removeWhile repeats a removal that fails because a file is open, as long as again
// returns true.
func removeWhile(path string, again func() bool) error {
	return whileOpen(func() error { return os.RemoveAll(path) }, again)
}

// renameWhile repeats an operation that fails because a file is open, as long as again
// returns true.
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
