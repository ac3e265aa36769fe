package packagezip_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// file is a file to be written to an archive.
type file struct {
	name    string
	content string
	// header, if not nil, changes the header of the file. By default, the file is
	// executable.
	header func(*zip.FileHeader)
}

func packageOf(tb testing.TB, files ...file) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(0o755)
		if f.header != nil {
			f.header(h)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := out.Write([]byte(f.content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// made sets the same header fields as an archiver on the given system.
func made(system uint16, attrs uint32) func(*zip.FileHeader) {
	return func(h *zip.FileHeader) {
		h.CreatorVersion = system<<8 | 20
		h.ExternalAttrs = attrs
	}
}

func platform(tb testing.TB, text string) provider.Platform {
	tb.Helper()
	p, err := provider.ParsePlatform(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// checkPackage checks a package of provider type x.
func checkPackage(tb testing.TB, data []byte, p string) (packagezip.Report, error) {
	tb.Helper()
	return packagezip.Check(bytes.NewReader(data), int64(len(data)), "x", platform(tb, p))
}
