package atomicfile

import (
	"io/fs"
	"syscall"
)

// StampOf returns the stamp of a file. info must be from this system.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed, s.inode = sys.Ctim.Nano(), sys.Ino
	}
	return s
}
