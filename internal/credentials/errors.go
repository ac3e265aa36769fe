package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// FileError means that a credentials file can't be used. It doesn't reveal the contents
// of entries.
type FileError struct {
	// Path is the path of the file, or $DOCKER_AUTH_CONFIG.
	Path string
	// Line is the line number of the problem, starting at 1. It is 0 if the line is
	// unknown or if Err describes the entry.
	Line int
	// Err describes a problem with the content, or explains why the file can't be read.
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

// Kind returns [provider.Malformed] if the file's content is invalid. It returns a
// different kind if the file can't be opened.
func (e *FileError) Kind() provider.ErrorKind {
	if _, fromSystem := errors.AsType[syscall.Errno](e.Err); fromSystem || errors.Is(e.Err, fs.ErrNotExist) {
		return provider.Unknown
	}
	return provider.Malformed
}
