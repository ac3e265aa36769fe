package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

func beginDir(t *testing.T, parent, content string) string {
	t.Helper()
	tmp, err := atomicfile.TempDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tmp, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "sub", "file"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return tmp
}

func TestCommitDir(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "made", "as needed")
	final := filepath.Join(parent, "final")
	if err := atomicfile.CommitDir(beginDir(t, parent, "first"), final); err != nil {
		t.Fatal(err)
	}
	checkContent(t, filepath.Join(final, "sub", "file"), "first")
	checkNames(t, parent, "final", "final/sub", "final/sub/file")
}

func TestCommitDirRefusesExisting(t *testing.T) {
	t.Parallel()
	tests := map[string]func(path string) error{
		"a directory": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "x"), nil, 0o644))
		},
		"an empty directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a file":             func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
	}
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			final := filepath.Join(parent, "final")
			if err := put(final); err != nil {
				t.Fatal(err)
			}
			before := names(t, parent)
			tmp := beginDir(t, parent, "second")
			if err := atomicfile.CommitDir(tmp, final); !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v, want fs.ErrExist", err)
			}
			if err := os.RemoveAll(tmp); err != nil {
				t.Fatal(err)
			}
			checkNames(t, parent, before...)
		})
	}
}

func TestRemoveDir(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	if err := os.Rename(beginDir(t, parent, "content"), dir); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.RemoveDir(dir); err != nil {
		t.Fatal(err)
	}
	checkNames(t, parent)
	if err := atomicfile.RemoveDir(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}
