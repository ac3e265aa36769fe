package publish

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/disk"
)

// spool is a temporary file for one zip. Where the system allows, it has no
// name any more, so that a killed run leaves nothing behind.
type spool struct {
	*os.File
}

// newSpool makes one in dir, or where the system keeps temporary files, for a zip
// of so many bytes; -1 is not known.
func newSpool(dir string, size int64) (*spool, error) {
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
	return &spool{f}, nil
}

// Reader reads from the start, whatever was written last.
func (s *spool) Reader() io.Reader { return io.NewSectionReader(s.File, 0, 1<<62) }

// Reset empties the file.
func (s *spool) Reset() error {
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.Truncate(0)
}

// Close removes the file.
func (s *spool) Close() {
	_ = s.File.Close()
	_ = os.Remove(s.Name())
}

// temporaryDirectory makes a directory for one zip and what is in it, and removes
// those that killed runs left in the same place.
func temporaryDirectory(parent string) (string, error) {
	atomicfile.Sweep(cmp.Or(parent, os.TempDir()))
	return os.MkdirTemp(parent, atomicfile.TemporaryPattern)
}
