package atomicfile

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// ScratchFile is a temporary file for one zip. What killed runs left in the same place is
// removed after a day. Where the system allows, it has no name
// any more, so that a killed run leaves nothing behind.
type ScratchFile struct {
	*os.File
}

// NewScratchFile makes one in dir, or where the system keeps temporary files, for a zip
// of so many bytes; -1 is not known.
func NewScratchFile(dir string, size int64) (*ScratchFile, error) {
	dir = cmp.Or(dir, os.TempDir())
	Sweep(dir)
	if err := CheckRoom(dir, size); err != nil {
		return nil, fmt.Errorf("keeping a zip in %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("keeping a zip in a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows refuses; Close tries again
	return &ScratchFile{f}, nil
}

// Reader reads from the start, whatever was written last.
func (f *ScratchFile) Reader() io.Reader { return io.NewSectionReader(f.File, 0, 1<<62) }

// Reset empties the file.
func (f *ScratchFile) Reset() error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}

// Close removes the file. The error is always nil.
func (f *ScratchFile) Close() error {
	_ = f.File.Close()
	_ = os.Remove(f.Name())
	return nil
}

// NewScratchDir makes an empty directory in parent, or where the system keeps
// temporary files. The caller removes it.
func NewScratchDir(parent string) (string, error) {
	Sweep(cmp.Or(parent, os.TempDir()))
	return os.MkdirTemp(parent, TemporaryPattern)
}
