package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FileError says that a file with logins can't be used. It tells nothing of what
// an entry holds.
type FileError struct {
	// Path is the file's, or $DOCKER_AUTH_CONFIG.
	Path string
	// Line is where the problem is, from 1. It is 0 when it is in no line, or in
	// an entry that Err names.
	Line int
	// Err is a problem of the content, or why the file can't be read.
	Err error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns Err: [io/fs.ErrPermission], for example.
func (e *FileError) Unwrap() error { return e.Err }

// Kind is [provider.Malformed] if the problem is the content, in contrast to a file that
// cannot be opened.
func (e *FileError) Kind() provider.ErrorKind {
	if _, fromSystem := errors.AsType[syscall.Errno](e.Err); fromSystem || errors.Is(e.Err, fs.ErrNotExist) {
		return provider.Unknown
	}
	return provider.Malformed
}
