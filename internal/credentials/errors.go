package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FileError reports that a file with credentials can't be used. It doesn't contain the content
// of entries.
type FileError struct {
	// Path is the path of the file, or $DOCKER_AUTH_CONFIG.
	Path string
	// Line is the line of the problem, starting at 1. It is 0 if the problem has no line, or if
	// Err describes the entry.
	Line int
	// Err is a problem with the content, or the reason the file can't be read.
	Err error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns Err, for example [io/fs.ErrPermission].
func (e *FileError) Unwrap() error { return e.Err }

// Kind returns [provider.Malformed] if the content is invalid, in contrast to a file that can't
// be opened.
func (e *FileError) Kind() provider.ErrorKind {
	if _, fromSystem := errors.AsType[syscall.Errno](e.Err); fromSystem || errors.Is(e.Err, fs.ErrNotExist) {
		return provider.Unknown
	}
	return provider.Malformed
}
