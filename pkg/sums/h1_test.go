package sums_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// entry is a file in a zip archive.
type entry struct {
	name, content string
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name}
		// Compressing 100,000 empty files would be slow.
		if e.content != "" {
			h.Method = zip.Deflate
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		// Directories contain no data.
		if e.content != "" {
			if _, err := f.Write([]byte(e.content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// h1Zip returns the h1 hash of an archive.
func h1Zip(t *testing.T, entries ...entry) string {
	t.Helper()
	data := zipOf(t, entries...)
	h1, err := origintest.H1(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return h1
}

// The checksum database lists this hash for the go.mod file of github.com/pkg/errors
// v0.9.1. It is the hash of a directory that contains only this file.
func TestH1Published(t *testing.T) {
	t.Parallel()
	const published = "h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0="
	content := "module github.com/pkg/errors\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sums.H1Dir(dir); got != published || err != nil {
		t.Errorf("H1Dir = %q, %v", got, err)
	}
}

func TestH1Dir(t *testing.T) {
	t.Parallel()
	entries := []entry{{"z", "1"}, {"a/b/c", "2"}, {"a.b", ""}}
	dir := t.TempDir()
	for _, e := range entries {
		file := filepath.Join(dir, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(e.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := h1Zip(t, entries...)
	if got, err := sums.H1Dir(dir); got != want || err != nil {
		t.Errorf("H1Dir = %q, %v, want %q as of the zip", got, err, want)
	}
	if withDir := h1Zip(t, append(entries, entry{"a/", ""})...); withDir == want {
		t.Errorf("a zip with directory entries = %q, must differ from that", withDir)
	}
	if h1, err := sums.H1Dir(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %q, %v", h1, err)
	}
}
