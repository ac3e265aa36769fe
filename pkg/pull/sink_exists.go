package pull

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrExists says that something else is where a package belongs. It stays as it is:
// whether it may go is not for a program to decide.
var ErrExists = provider.Errorf(provider.Conflict, "move it away or choose another directory")

// exists says what is at a path: the problem continues the sentence that starts with it.
func exists(path, format string, args ...any) error {
	return fmt.Errorf("%s %s; %w", path, fmt.Sprintf(format, args...), ErrExists)
}

// otherContents is the problem of a checksum that differs.
func otherContents(path, got, want string) error {
	return exists(path, "is there with other contents (%s, want %s)", got, want)
}

// lookAt says what is at path, behind symbolic links; nil means that the path is
// free. A link that leads nowhere takes the place too, and is described itself.
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

// kindOf names what is at a path.
func kindOf(fi fs.FileInfo) string {
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link to nothing"
	}
	return "neither a file nor a directory"
}
