package atomicfile_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

// original creates a file, opens it, and reads it to its end.
func original(t *testing.T, path string, content []byte) *os.File {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Seek(0, 2); err != nil {
		t.Fatal(err)
	}
	return f
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestCopiesAreIndependent checks that writing to a file does not change its copy.
func TestCopiesAreIndependent(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"empty": 0, "small": 5, "several pieces": 70 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			content := bytes.Repeat([]byte("provider"), size/8+1)[:size]
			src := original(t, filepath.Join(dir, "src"), content)
			dst, err := atomicfile.CopyIn(t.Context(), rootOf(t, dir), "dst", 0o755, src)
			if err != nil {
				t.Fatal(err)
			}
			defer dst.Close()
			for _, test := range []struct {
				write *os.File
				other string
			}{{src, "dst"}, {dst, "src"}} {
				got, err := os.ReadFile(filepath.Join(dir, test.other))
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s has %d other bytes, %v", test.other, len(got), err)
				}
				if _, err := test.write.WriteAt([]byte("X"), 0); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(filepath.Join(dir, test.other)); err != nil || !bytes.Equal(got, content) {
					t.Errorf("a write to the other is seen in %s: %v", test.other, err)
				}
				if size > 0 {
					if _, err := test.write.WriteAt([]byte("p"), 0); err != nil {
						t.Error(err)
					}
				} else if err := test.write.Truncate(0); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestCopyMode checks that a copy has the requested mode instead of the
// original's mode.
func TestCopyMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // Windows does not support these file modes
	}
	dir := t.TempDir()
	src := original(t, filepath.Join(dir, "src"), []byte("text"))
	for _, mode := range []fs.FileMode{0o755, 0o644, 0o400} {
		if err := os.WriteFile(filepath.Join(dir, "as any program's"), nil, mode); err != nil {
			t.Fatal(err)
		}
		want, err := os.Stat(filepath.Join(dir, "as any program's"))
		if err != nil {
			t.Fatal(err)
		}
		dst, err := atomicfile.CopyIn(t.Context(), rootOf(t, dir), "dst", mode, src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dst.Stat()
		if err != nil || got.Mode() != want.Mode() {
			t.Errorf("mode %v, want %v: %v", got.Mode(), want.Mode(), err)
		}
		_ = dst.Close()
		for _, name := range []string{"dst", "as any program's"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := original(t, filepath.Join(dir, "src"), []byte("text"))
	if _, err := atomicfile.CopyIn(t.Context(), rootOf(t, dir), "src", 0o644, src); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file that is there: %v", err)
	}
	if _, err := atomicfile.CopyIn(t.Context(), rootOf(t, dir), filepath.Join("..", "dst"), 0o644, src); err == nil {
		t.Error("a file outside of the directory")
	}
	gone := original(t, filepath.Join(dir, "gone"), []byte("text"))
	_ = gone.Close()
	if _, err := atomicfile.CopyIn(t.Context(), rootOf(t, dir), "dst", 0o644, gone); err == nil {
		t.Error("a copy of a closed file")
	}
	if _, err := os.Lstat(filepath.Join(dir, "dst")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}

// TestCanceled checks that cancellation stops copying.
func TestCanceled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := original(t, filepath.Join(dir, "src"), []byte("text"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := atomicfile.CopyIn(ctx, rootOf(t, dir), "dst", 0o644, src); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "dst")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}
