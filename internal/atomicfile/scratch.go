package atomicfile

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// ScratchFile is a temporary file for a zip. If the system allows it, the file has no
// name, so no file remains if the process is killed. Otherwise, a later run removes the
// file once it is a day old.
type ScratchFile struct {
	*os.File
}

// NewScratchFile creates a file in dir for a zip of size bytes. If the size is unknown,
// size is -1. If dir is empty, the system's temporary directory is used.
func NewScratchFile(dir string, size int64) (*ScratchFile, error) {
	dir = cmp.Or(dir, os.TempDir())
	Sweep(dir)
	if err := CheckFreeSpace(dir, size); err != nil {
		return nil, fmt.Errorf("creating a temporary file in %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // fails on Windows, where Close tries again
	return &ScratchFile{f}, nil
}

// Reader returns a reader that starts at the beginning of the file.
func (f *ScratchFile) Reader() io.Reader { return io.NewSectionReader(f.File, 0, 1<<62) }

// Reset truncates the file.
func (f *ScratchFile) Reset() error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}

// Close removes the file. It always returns nil.
func (f *ScratchFile) Close() error {
	_ = f.File.Close()
	_ = os.Remove(f.Name())
	return nil
}

// NewScratchDir creates an empty directory in parent. If parent is empty, the system's
// temporary directory is used. The caller must remove the directory.
func NewScratchDir(parent string) (string, error) {
	Sweep(cmp.Or(parent, os.TempDir()))
	return os.MkdirTemp(parent, TemporaryPattern)
}
