// Package within resolves paths that may be relative to a directory.
package within

import (
	"os"
	"path/filepath"
)

// Path gives a path as a program takes it that works in dir. What begins with a
// separator and has no drive, `\path` on Windows, is on the drive of dir.
func Path(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.Join(filepath.VolumeName(dir), path)
	}
	return filepath.Join(dir, path)
}
