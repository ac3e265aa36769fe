package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// openFull creates the temporary file, but opens the kernel's device that is always
// full.
func openFull(name string, _ fs.FileMode) (*os.File, error) {
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		return nil, err
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer full.Close()
	fd, err := syscall.Dup(int(full.Fd()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	commits := map[string]func(*atomicfile.File) error{
		"Commit":    (*atomicfile.File).Commit,
		"CommitNew": (*atomicfile.File).CommitNew,
	}
	for name, commit := range commits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			f, err := atomicfile.CreateWith(path, openFull)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(f, "content"); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Write: %v, want ENOSPC", err)
			}
			// Committing must fail even if the caller ignored the first error.
			err = commit(f)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v, want ENOSPC", name, err)
			}
			var named *fs.PathError
			if !errors.As(err, &named) || named.Path != path {
				t.Errorf("%s: %v, want an error that names %s", name, err, path)
			}
			checkNames(t, dir)
		})
	}
}
