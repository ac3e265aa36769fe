package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// stale creates the file of a run that was killed two days ago.
func stale(t *testing.T, dir string) (path string) {
	t.Helper()
	path, err := atomicfile.NewScratchDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := stale(t, dir)
	f, err := atomicfile.NewScratchFile(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	wantGone(t, old)
	for _, text := range []string{"one", "other"} {
		if err := f.Reset(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f.Reader()); string(got) != text || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := atomicfile.NewScratchFile(dir, 1<<60); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than the disk has: %v", err)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := stale(t, dir)
	made, err := atomicfile.NewScratchDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantGone(t, old)
	if entries, err := os.ReadDir(made); len(entries) > 0 || err != nil {
		t.Errorf("it is not empty: %v, %v", entries, err)
	}
}
