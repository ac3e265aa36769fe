package cliconfig

import (
	"os"
	"path/filepath"
)

// ResolvePath resolves a path as a program that works in dir does. A path that begins
// with a separator and has no drive, `\path` on Windows, is on the drive of dir.
func ResolvePath(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.Join(filepath.VolumeName(dir), path)
	}
	return filepath.Join(dir, path)
}
