// Package bounded reads what others wrote within limits: files and JSON up to a size, and
// readers until a context ends.
package bounded

import (
	"fmt"
	"io"
	"os"
)

// TooLargeError says that a file is larger than what is read of its kind.
type TooLargeError struct {
	Path string
	// Limit is in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has more than %d bytes", e.Path, e.Limit)
}

// OpenFile opens a file. What is neither a file nor a link to one is refused: a named
// pipe would be waited for without end. Errors are those of the file system.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory where a file has to be", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file: it is a pipe, a device or a socket", path)
	}
	return open(path)
}

// ReadFile returns a file's content, of at most limit bytes. What [OpenFile] refuses is
// refused; errors are also *[TooLargeError].
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// ReadFileOrPipe is [ReadFile] of what a user names, which may be a pipe: a shell makes one
// of <(command).
func ReadFileOrPipe(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &TooLargeError{Path: path, Limit: limit}
	}
	return data, nil
}
