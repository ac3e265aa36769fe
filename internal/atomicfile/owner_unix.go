//go:build !windows

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// restoreOwner restores the owner of a replaced file. With sudo, the owner can be another
// user, who could otherwise not read the file.
func restoreOwner(path string, before fs.FileInfo) error {
	owner, known := before.Sys().(*syscall.Stat_t)
	if !known || os.Geteuid() != 0 {
		return nil // only root can change owners
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
