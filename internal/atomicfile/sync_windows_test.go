package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// TestRenameOpenFile checks that an open file is not replaced, and that a directory
// with an open file is not renamed, until the file is closed.
func TestRenameOpenFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, to, open string }{
		"an existing file":      {from: "file", to: "dir/file", open: "dir/file"},
		"a file in a directory": {from: "dir", to: "moved", open: "dir/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			err := errors.Join(os.WriteFile(filepath.Join(parent, "file"), nil, 0o644), os.Mkdir(filepath.Join(parent, "dir"), 0o755),
				os.WriteFile(filepath.Join(parent, "dir", "file"), nil, 0o644))
			if err != nil {
				t.Fatal(err)
			}
			from, to := filepath.Join(parent, test.from), filepath.Join(parent, filepath.FromSlash(test.to))
			opened, err := os.Open(filepath.Join(parent, filepath.FromSlash(test.open)))
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			if err := atomicfile.RenameWhile(from, to, func() bool { return false }); err == nil {
				t.Error("it is renamed while it is open")
			}
			tries := 0
			err = atomicfile.RenameWhile(from, to, func() bool {
				tries++
				return opened.Close() == nil
			})
			if err != nil || tries != 1 {
				t.Errorf("%v after %d failures, want one", err, tries)
			}
			if _, err := os.Lstat(from); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it has its old name: %v", err)
			}
		})
	}
}

// TestRemoveOpenFile checks that a directory is removed when its last open file is
// closed.
func TestRemoveOpenFile(t *testing.T) {
	t.Parallel()
	dir, err := atomicfile.TempDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	err = atomicfile.RemoveWhile(dir, func() bool {
		tries++
		return open.Close() == nil
	})
	if err != nil || tries != 1 {
		t.Errorf("%v after %d failures, want one", err, tries)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
