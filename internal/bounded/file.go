// Package bounded reads untrusted input within limits. It limits the size of files and
// JSON documents, and stops reading when a context is canceled.
package bounded

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// TooLargeError means that a file exceeds the size limit.
type TooLargeError struct {
	Path string
	// Limit is the size limit in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s exceeds %d bytes", e.Path, e.Limit)
}

// OpenFile opens a regular file or a link to a regular file. It rejects any other file,
// because opening a named pipe could block forever. It returns file system errors.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, not a file", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return open(path)
}

// ReadFile returns the content of a file of up to limit bytes. It rejects the same
// files as [OpenFile]. If the file is larger, ReadFile returns a *[TooLargeError].
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// ReadFileOrPipe is like [ReadFile], but also accepts pipes, because shells create a
// pipe for <(command).
func ReadFileOrPipe(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	defer func() { _ = f.Close() }()
	var content bytes.Buffer
	if info, err := f.Stat(); err == nil { // avoids growing the buffer
		content.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	}
	if _, err := content.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(content.Len()) > limit {
		return nil, &TooLargeError{Path: path, Limit: limit}
	}
	return content.Bytes(), nil
}
