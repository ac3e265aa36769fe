//go:build !linux && !darwin

package atomicfile

import "io/fs"

// StampOf returns a stamp that contains only the size and the modification time.
// Windows provides the inode and the time of change only for open files.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
}
