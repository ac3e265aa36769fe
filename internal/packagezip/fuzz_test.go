package packagezip_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
)

// FuzzUnpack checks that no archive creates a link or a file outside the directory, and
// that each unpacked archive has the expected hash.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("PK\x05\x06"))
	f.Add(deflated(f, entry{name: "docs/"}, entry{name: "docs/a", content: "hello"}, entry{name: "terraform-provider-x", header: mode(0o755)}))
	for _, name := range []string{"../outside", "/outside", `..\outside`, "a/../../outside", "C:/outside"} {
		f.Add(archive(f, entry{name: name, content: "x"}))
	}
	f.Add(archive(f, entry{name: "link", content: "..", header: mode(fs.ModeSymlink | 0o777)}, entry{name: "link/outside", content: "x"}))
	f.Add(archive(f, entry{name: "liar", content: "x", header: func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 40 }}))

	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		neighbor := filepath.Join(parent, "neighbor")
		if err := os.WriteFile(neighbor, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		dir, streamed := filepath.Join(parent, "dir"), filepath.Join(parent, "dir", "streamed")
		if err := os.MkdirAll(streamed, 0o755); err != nil {
			t.Fatal(err)
		}
		_, _ = packagezip.UnpackStream(t.Context(), bytes.NewReader(data), streamed)
		unpacked := filepath.Join(dir, "unpacked")
		if err := os.Mkdir(unpacked, 0o755); err != nil {
			t.Fatal(err)
		}
		r, openErr := open(data)
		unpackErr := openErr
		if openErr == nil {
			unpackErr = r.Unpack(t.Context(), unpacked)
		}

		err := filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !d.Type().IsRegular() {
				t.Errorf("%s is neither a file nor a directory", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		outside := contents(t, parent)
		for name := range outside {
			if strings.HasPrefix(name, "dir/streamed/") || strings.HasPrefix(name, "dir/unpacked/") || name == "dir/" {
				delete(outside, name)
			}
		}
		if diff := cmp.Diff(map[string]string{"neighbor": "mine"}, outside); diff != "" {
			t.Errorf("files outside of the directory (-want +got):\n%s", diff)
		}
		if unpackErr == nil {
			foretold, hashErr := r.Contents(t.Context())
			checkH1Dir(t, unpacked, foretold.H1Unpacked, hashErr)
		}
	})
}

// FuzzStream checks that streaming an archive either has the same result as random
// access or fails with a NotStreamableError. It also checks that the standard library,
// which OpenTofu uses, reads the same files.
func FuzzStream(f *testing.F) {
	for _, sample := range samples() {
		f.Add(sample.zip())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := agree(t, data)
		if got == both || got == randomOnly {
			_, _ = readAllWays(t, data)
		}
	})
}
