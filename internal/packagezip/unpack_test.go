package packagezip_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("content that is longer than one buffer ", 20_000)
	data := deflated(t,
		entry{name: "terraform-provider-x_v1.0.0", content: big, header: mode(0o755)},
		entry{name: "docs/"},
		entry{name: "docs/guide/index.md", content: "hello"},
		entry{name: "lib/empty/"},
		entry{name: "zero"},
	)
	dir := t.TempDir()
	if err := mustOpen(t, data).Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"terraform-provider-x_v1.0.0": big,
		"docs/":                       "", "docs/guide/": "", "docs/guide/index.md": "hello",
		"lib/": "", "lib/empty/": "",
		"zero": "",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
}

// TestLyingArchives has headers that promise something else than the content.
func TestLyingArchives(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0", 1<<20)
	tests := []struct {
		test string
		data []byte
		want string
	}{
		{"inflates to more than declared", patched(t, long, func(h *zip.FileHeader) { h.UncompressedSize64 = 1000 }), "has other content than the zip directory declares (1000 bytes)"},
		{"inflates to less than declared", patched(t, long, func(h *zip.FileHeader) { h.UncompressedSize64++ }), "has content that ends too early"},
		{"other CRC-32", patched(t, long, func(h *zip.FileHeader) { h.CRC32++ }), "has content with another CRC-32"},
		{"content cut short", patched(t, long, func(h *zip.FileHeader) { h.CompressedSize64 /= 2 }), "has content that ends too early"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := mustOpen(t, test.data)
			err := r.Unpack(t.Context(), dir)
			checkDamage(t, err, test.want)
			for name, content := range contents(t, dir) {
				if len(content) > len(long) {
					t.Errorf("%s got %d bytes", name, len(content))
				}
			}
			_, err = r.H1Unpacked(t.Context())
			checkDamage(t, err, test.want)
		})
	}
}

// checkDamage wants an error of the archive that nobody takes for one of a
// connection.
func checkDamage(t *testing.T, err error, want string) {
	t.Helper()
	damage, ok := errors.AsType[*provider.ArchiveError](err)
	if !ok || damage.Name != "liar" || !strings.Contains(damage.Problem, want) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// patched deflates content honestly and then lets the header lie about it.
func patched(t *testing.T, content string, lie func(*zip.FileHeader)) []byte {
	t.Helper()
	honest := deflated(t, entry{name: "liar", content: content})
	z, err := zip.NewReader(strings.NewReader(string(honest)), int64(len(honest)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := z.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}
	header := z.File[0].FileHeader
	return archive(t, entry{name: "docs/"}, entry{name: "liar", content: string(compressed), header: func(h *zip.FileHeader) {
		*h = header
		h.Flags = 0
		lie(h)
	}})
}

func TestUnpackIntoTheWrongPlace(t *testing.T) {
	t.Parallel()
	r := mustOpen(t, archive(t, entry{name: "file"}))
	dir := t.TempDir()
	if err := r.Unpack(t.Context(), filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Unpack(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a directory with files: error %v", err)
	}
	if diff := cmp.Diff(map[string]string{"other": "mine"}, contents(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// cancelling cancels its context at the first read of contents.
type cancelling struct {
	io.ReaderAt
	armed  bool
	cancel context.CancelFunc
}

func (c *cancelling) ReadAt(p []byte, offset int64) (int, error) {
	if c.armed {
		c.cancel()
	}
	return c.ReaderAt.ReadAt(p, offset)
}

func TestUnpackIsInterrupted(t *testing.T) {
	t.Parallel()
	data := archive(t, entry{name: "docs/"}, entry{name: "big", content: strings.Repeat("x", 4<<20)})
	ctx, cancel := context.WithCancel(t.Context())
	src := &cancelling{ReaderAt: strings.NewReader(string(data)), cancel: cancel}
	r := mustOpenAt(t, src, int64(len(data)))
	src.armed = true
	dir := t.TempDir()
	if err := r.Unpack(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if got := len(contents(t, dir)["big"]); got >= 4<<20 {
		t.Errorf("%d bytes were copied all the same", got)
	}
	if _, err := r.H1Unpacked(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("H1Unpacked: error %v, want context.Canceled", err)
	}
}
