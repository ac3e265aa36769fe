package atomicfile

import (
	"io/fs"
	"syscall"
)

// StampOf returns a file's stamp. info must come from package os.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.changed, s.inode = sys.Ctimespec.Nano(), sys.Ino
	}
	return s
}
