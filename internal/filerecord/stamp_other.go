//go:build !linux && !darwin

package filerecord

import "io/fs"

// stampOf has size and time only: Windows tells no inode and no time of change
// without opening the file.
func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
}
