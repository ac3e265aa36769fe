//go:build unix

package packagezip_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// TestModesAgreeWithUnpack checks that Check and Unpack interpret modes in the same
// way. Only Unpack makes an executable without a mode executable.
func TestModesAgreeWithUnpack(t *testing.T) {
	t.Parallel()
	for _, header := range []func(*zip.FileHeader){
		mode(0o755), mode(0o700), mode(0o010), mode(0o644), mode(0),
		made(3, 0), made(3, 0o100644<<16), made(19, 0o100755<<16), made(19, 0o100644<<16), made(0, 0), made(0, 0x21), made(10, 0x20), made(10, 0o100644<<16),
	} {
		data := packageOf(t, file{name: "terraform-provider-x", content: elfFile{}.String(), header: header})
		_, err := checkPackage(t, data, "linux_amd64")
		fi := unpackOne(t, data, "terraform-provider-x")
		found := problems(t, err)
		if refused := len(found) > 0; refused != (fi.Mode()&0o111 == 0) && !strings.Contains(err.Error(), "has no Unix mode") {
			t.Errorf("unpacked with mode %v, but Check returned: %v", fi.Mode(), err)
		}
	}
}

func unpackOne(t *testing.T, data []byte, name string) fs.FileInfo {
	t.Helper()
	r, err := packagezip.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return fi
}
