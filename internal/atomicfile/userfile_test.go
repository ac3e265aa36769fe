package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "file")
	f := read(t, path)
	if f.Exists() || len(f.Text) != 0 || f.Mode(0o640) != 0o640 {
		t.Errorf("of a file that is not there: %+v", f)
	}
	must(t, f.Replace([]byte("one"), 0o600))
	f = read(t, path)
	if !f.Exists() || string(f.Text) != "one" {
		t.Errorf("got %+v", f)
	}
	must(t, f.Replace([]byte("two"), f.Mode(0)))
	if text := string(read(t, path).Text); text != "two" {
		t.Errorf("got %q", text)
	}
}

// TestReplaceNothing checks that an unchanged file keeps its modification time.
func TestReplaceNothing(t *testing.T) {
	t.Parallel()
	path := writeNamed(t, "file", "text")
	before, err := os.Stat(path)
	must(t, err)
	must(t, read(t, path).Replace([]byte("text"), 0o600))
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written: %v", err)
	}
}

func TestReplaceChangedFile(t *testing.T) {
	t.Parallel()
	path := writeNamed(t, "file", "before")
	f := read(t, path)
	must(t, os.WriteFile(path, []byte("by another"), 0o600))
	if err := f.Replace([]byte("after"), 0o600); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	must(t, os.Remove(path))
	if err := f.Replace([]byte("after"), 0o600); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("removed: %v", err)
	}
	none := read(t, path)
	must(t, os.WriteFile(path, nil, 0o600))
	if err := none.Replace([]byte("after"), 0o600); !errors.Is(err, atomicfile.ErrChanged) {
		t.Errorf("made: %v", err)
	}
}

func TestReadTooLarge(t *testing.T) {
	t.Parallel()
	_, err := atomicfile.ReadUserFile(writeNamed(t, "file", "0123456789"), 9)
	if _, ok := errors.AsType[*bounded.TooLargeError](err); !ok {
		t.Errorf("error %v", err)
	}
}

func read(t *testing.T, path string) *atomicfile.UserFile {
	t.Helper()
	f, err := atomicfile.ReadUserFile(path, 100)
	must(t, err)
	return f
}

func writeNamed(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
