package packagezip_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// TestUnpackAny checks that an archive that cannot be streamed is unpacked correctly
// with random access.
func TestUnpackAny(t *testing.T) {
	t.Parallel()
	for method, opened := range map[uint16]int{zip.Deflate: 1, zip.Store: 2} {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, name := range []string{"a", "b/c"} {
			entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(entry, "content of "+name); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, spool := t.TempDir(), t.TempDir()
		times := 0
		open := func(context.Context) (io.ReadCloser, error) {
			times++
			return io.NopCloser(bytes.NewReader(out.Bytes())), nil
		}
		contents, err := packagezip.UnpackAny(t.Context(), open, -1, got, spool)
		if err != nil || times != opened {
			t.Errorf("method %d: opened %d times, %v", method, times, err)
		}
		if text, err := os.ReadFile(filepath.Join(got, "b", "c")); string(text) != "content of b/c" {
			t.Errorf("method %d: %q, %v", method, text, err)
		}
		hashed, err := packagezip.HashAny(t.Context(), open, -1, spool)
		if err != nil || hashed.H1 != contents.H1 {
			t.Errorf("method %d: %s and %s, %v", method, hashed.H1, contents.H1, err)
		}
		if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	broken := errors.New("broken")
	_, err := packagezip.UnpackAny(t.Context(), func(context.Context) (io.ReadCloser, error) { return nil, broken }, -1, t.TempDir(), t.TempDir())
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
