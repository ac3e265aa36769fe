package pull

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrExists is returned if the path of a package has different content. The existing
// content is kept, because only the user can decide whether to delete it.
var ErrExists = provider.Errorf(provider.Conflict, "move it or choose another directory")

// exists returns an error that wraps [ErrExists]. The formatted text is the predicate
// of a sentence about the path.
func exists(path, format string, args ...any) error {
	return fmt.Errorf("%s %s; %w", path, fmt.Sprintf(format, args...), ErrExists)
}

// otherContents returns an [ErrExists] error about a different checksum.
func otherContents(path, got, want string) error {
	return exists(path, "has different content (%s, want %s)", got, want)
}

// lookAt returns information about the target of path, or nil if nothing exists at
// path. For a dangling symbolic link, lookAt describes the link.
func lookAt(path string) (fs.FileInfo, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		fi, err = os.Lstat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return fi, err
}

// kindOf describes the type of a file for an error message.
func kindOf(fi fs.FileInfo) string {
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a dangling symbolic link"
	}
	return "neither a file nor a directory"
}
