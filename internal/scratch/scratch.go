// Package scratch makes files and directories that nobody needs any more when the
// work is done. What killed runs left in the same place is removed after a day.
package scratch

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/disk"
)

// File is a temporary file for one zip. Where the system allows, it has no name
// any more, so that a killed run leaves nothing behind.
type File struct {
	*os.File
}

// NewFile makes one in dir, or where the system keeps temporary files, for a zip
// of so many bytes; -1 is not known.
func NewFile(dir string, size int64) (*File, error) {
	dir = cmp.Or(dir, os.TempDir())
	atomicfile.Sweep(dir)
	if err := disk.CheckRoom(dir, size); err != nil {
		return nil, fmt.Errorf("keeping a zip in %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, atomicfile.TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("keeping a zip in a temporary file: %w", err)
	}
	_ = os.Remove(f.Name()) // Windows refuses; Close tries again
	return &File{f}, nil
}

// Reader reads from the start, whatever was written last.
func (f *File) Reader() io.Reader { return io.NewSectionReader(f.File, 0, 1<<62) }

// Reset empties the file.
func (f *File) Reset() error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}

// Close removes the file. The error is always nil.
func (f *File) Close() error {
	_ = f.File.Close()
	_ = os.Remove(f.Name())
	return nil
}

// NewDirectory makes an empty directory in parent, or where the system keeps
// temporary files. The caller removes it.
func NewDirectory(parent string) (string, error) {
	atomicfile.Sweep(cmp.Or(parent, os.TempDir()))
	return os.MkdirTemp(parent, atomicfile.TemporaryPattern)
}
