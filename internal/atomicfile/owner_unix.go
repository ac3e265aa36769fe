//go:build !windows

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// restoreOwner restores a replaced file's owner. If root replaces the file, for example
// with sudo, the owner is often another user, who otherwise could not read the new
// file.
func restoreOwner(path string, before fs.FileInfo) error {
	owner, known := before.Sys().(*syscall.Stat_t)
	if !known || os.Geteuid() != 0 {
		return nil // only root can change the owner
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
