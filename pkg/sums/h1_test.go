package sums_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// entry is a file in a zip archive that a test makes.
type entry struct {
	name, content string
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name}
		// A deflater costs more than the file where there are 100,000 of them.
		if e.content != "" {
			h.Method = zip.Deflate
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		// A directory takes no content.
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

func h1Zip(ctx context.Context, data []byte) (string, error) {
	return sums.H1Zip(ctx, bytes.NewReader(data), int64(len(data)))
}

// The checksum database lists this hash for the go.mod file of
// github.com/pkg/errors v0.9.1, which is hashed as a directory of one file.
func TestH1Published(t *testing.T) {
	t.Parallel()
	const published = "h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0="
	content := "module github.com/pkg/errors\n"
	if got, err := h1Zip(t.Context(), zipOf(t, entry{"go.mod", content})); got != published || err != nil {
		t.Errorf("H1Zip = %q, %v", got, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sums.H1Dir(dir); got != published || err != nil {
		t.Errorf("H1Dir = %q, %v", got, err)
	}
}

func TestH1Zip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, 300_000)
	for i := range large {
		large[i] = byte(random.UintN(256))
	}
	tests := map[string][]entry{
		"empty":        nil,
		"one":          {{"terraform-provider-x_v1.0.0", string(large)}},
		"unsorted":     {{"z", "1"}, {"README.md", strings.Repeat("text ", 9999)}, {"a/b/c", "2"}, {"a.b", ""}},
		"directories":  {{"docs/", ""}, {"docs/index.md", "#"}, {"a", "b"}},
		"same name":    {{"a", "first"}, {"a", "second"}},
		"outside":      {{"../a", "1"}, {"/b", "2"}},
		"not in ASCII": {{"ä.md", "1"}, {"日本", "2"}},
	}
	for name, entries := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := zipOf(t, entries...)
			file := filepath.Join(t.TempDir(), "x.zip")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			want, err := dirhash.HashZip(file, dirhash.Hash1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := h1Zip(t.Context(), data)
			if got != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
			if _, err := sums.ParseH1(got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestH1ZipErrors(t *testing.T) {
	t.Parallel()
	good := zipOf(t, entry{"a", strings.Repeat("content", 10_000)})
	damaged := bytes.Clone(good)
	damaged[40] ^= 0xff
	for name, data := range map[string][]byte{
		"nothing":   {},
		"no zip":    []byte("<html>"),
		"cut":       good[:len(good)-30],
		"damaged":   damaged,
		"line feed": zipOf(t, entry{"a\nb", "1"}),
	} {
		if h1, err := h1Zip(t.Context(), data); err == nil || h1 != "" {
			t.Errorf("%s: %q, %v", name, h1, err)
		}
	}
}

func TestH1ZipBounds(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	many := make([]entry, 100_001)
	for i := range many {
		many[i].name = strconv.Itoa(i)
	}
	// Names so long that the directory is too large before its entries are too
	// many.
	long := make([]entry, 600)
	for i := range long {
		long[i].name = strings.Repeat("d", 60_000) + strconv.Itoa(i)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"entries":   {zipOf(t, many...), "more than 100000 entries"},
		"directory": {zipOf(t, long...), "more than 33554432 bytes"},
		"contents":  {zipDeclaring(t, []string{"a", "b"}, 2<<30, 2<<30+1), "more than 4294967296 bytes"},
		// The later one is read twice, as dirhash does.
		"same name": {zipDeclaring(t, []string{"a", "a"}, 0, 3<<30), "more than 4294967296 bytes"},
	} {
		h1, err := h1Zip(t.Context(), test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v", name, h1, err)
		}
	}
	// One that declares less than it holds gets no further than it declared.
	if h1, err := h1Zip(t.Context(), zipDeclaring(t, []string{"a"}, 1)); err == nil || !strings.Contains(err.Error(), "not a valid zip file") {
		t.Errorf("understated: %q, %v", h1, err)
	}
}

// zipDeclaring makes an archive of files that hold ten bytes each and declare
// other sizes.
func zipDeclaring(t *testing.T, names []string, sizes ...uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, name := range names {
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, CompressedSize64: 10, UncompressedSize64: sizes[i]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cancelAt cancels a context when a place in the archive is read.
type cancelAt struct {
	*bytes.Reader
	cancel context.CancelFunc
	at     int64
}

func (c cancelAt) ReadAt(p []byte, off int64) (int, error) {
	if off <= c.at && c.at < off+int64(len(p)) {
		c.cancel()
	}
	return c.Reader.ReadAt(p, off)
}

func TestH1ZipCanceled(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{})
	content := make([]byte, 1<<20)
	_, _ = random.Read(content)
	data := zipOf(t, entry{"a", string(content)})
	for name, at := range map[string]int64{"in the directory": int64(len(data) - 1), "in the contents": 500_000} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := sums.H1Zip(ctx, cancelAt{bytes.NewReader(data), cancel, at}, int64(len(data)))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
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
	want, err := h1Zip(t.Context(), zipOf(t, entries...))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sums.H1Dir(dir); got != want || err != nil {
		t.Errorf("H1Dir = %q, %v, want %q as of the zip", got, err, want)
	}
	withDir, err := h1Zip(t.Context(), zipOf(t, append(entries, entry{"a/", ""})...))
	if err != nil || withDir == want {
		t.Errorf("a zip that lists directories = %q, %v, must differ from %q", withDir, err, want)
	}
	if h1, err := sums.H1Dir(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %q, %v", h1, err)
	}
}
