//go:build !windows

package atomicfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// renamesOpenFiles reports whether the system can rename open files, so that they
// remain locked until they have their final names.
const renamesOpenFiles = true

// lockFile locks a new file until it is closed or the process ends. If another process
// has removed the file, lockFile returns [fs.ErrNotExist]. Some file systems don't
// support locks, so [Sweep] can't remove files there before they are a day old.
func lockFile(f *os.File) error {
	if err := tryLock(f); errors.Is(err, unix.EWOULDBLOCK) {
		return fs.ErrNotExist // another process is about to remove the file
	}
	_, err := os.Lstat(f.Name())
	return err
}

// removeUnlocked removes a file if no process has locked it.
func removeUnlocked(name string) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if tryLock(f) == nil {
		_ = os.Remove(name)
	}
}

func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
