//go:build !linux && !darwin

package atomicfile

import "io/fs"

// StampOf describes a file by size and time only: Windows tells no inode and no
// time of change without opening the file.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
}
