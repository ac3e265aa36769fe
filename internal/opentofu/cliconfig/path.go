package cliconfig

import (
	"os"
	"path/filepath"
)

// ResolvePath resolves a path relative to dir. On Windows, a path without a drive that
// starts with a separator, such as `\path`, refers to the drive of dir.
func ResolvePath(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.Join(filepath.VolumeName(dir), path)
	}
	return filepath.Join(dir, path)
}
