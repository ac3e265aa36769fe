package packagezip_test

import (
	"bytes"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// entry is an entry to be written to an archive.
type entry struct {
	name    string
	content string
	// header, if not nil, changes the header of the entry.
	header func(h *zip.FileHeader)
}

func mode(m fs.FileMode) func(*zip.FileHeader) {
	return func(h *zip.FileHeader) { h.SetMode(m) }
}

// archive writes uncompressed entries without validating them.
func archive(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{
			Name:               e.name,
			Method:             zip.Store,
			CRC32:              crc32.ChecksumIEEE([]byte(e.content)),
			CompressedSize64:   uint64(len(e.content)),
			UncompressedSize64: uint64(len(e.content)),
		}
		if e.header != nil {
			e.header(h)
		}
		raw, err := w.CreateRaw(h)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := raw.Write([]byte(e.content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// deflated writes compressed entries.
func deflated(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.header != nil {
			e.header(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(e.content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func open(data []byte) (*packagezip.Reader, error) {
	return packagezip.Open(bytes.NewReader(data), int64(len(data)))
}

func mustOpen(t *testing.T, data []byte) *packagezip.Reader {
	t.Helper()
	return mustOpenAt(t, bytes.NewReader(data), int64(len(data)))
}

func mustOpenAt(t *testing.T, src io.ReaderAt, size int64) *packagezip.Reader {
	t.Helper()
	r, err := packagezip.Open(src, size)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// contents maps every file below dir to its content. Directory names end in a slash.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
