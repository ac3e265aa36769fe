package packagezip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zip"
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

// TestUnpackManyFiles checks the files and modes of an archive whose files are synced
// together.
func TestUnpackManyFiles(t *testing.T) {
	t.Parallel()
	var entries []entry
	want := map[string]string{"d/": ""}
	for i := range 100 {
		name := fmt.Sprintf("d/%02d.sh", i)
		entries, want[name] = append(entries, entry{name: name, content: name, header: mode(0o755)}), name
	}
	dir := t.TempDir()
	if err := mustOpen(t, deflated(t, entries...)).Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "d", "99.sh")); err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestInconsistentArchives covers archives whose headers contradict the content.
func TestInconsistentArchives(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0", 1<<20)
	tests := []struct {
		test string
		data []byte
		want string
	}{
		{"inflates to more than declared", patched(t, long, func(h *zip.FileHeader) { h.UncompressedSize64 = 1000 }), "exceeds its declared size"},
		{"inflates to less than declared", patched(t, long, func(h *zip.FileHeader) { h.UncompressedSize64++ }), "is 1048576 bytes long, but declares 1048577"},
		{"other CRC-32", patched(t, long, func(h *zip.FileHeader) { h.CRC32++ }), "CRC-32"},
		{"CRC-32 that looks unset", patched(t, long, func(h *zip.FileHeader) { h.CRC32 = 0 }), "CRC-32"},
		{"content cut short", patchedContent(t, long, func(p []byte) []byte { return p[:len(p)/2] }), "truncated"},
		{"content damaged", patchedContent(t, long, func(p []byte) []byte { return bytes.Repeat([]byte{0xff}, len(p)) }), "damaged"},
		{"bytes after the content", patchedContent(t, long, func(p []byte) []byte { return append(p, "hidden"...) }), "compressed size of"},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := mustOpen(t, test.data)
			checkRule(t, "Unpack", r.Unpack(t.Context(), dir), "liar", test.want)
			for name, content := range contents(t, dir) {
				if len(content) > len(long) {
					t.Errorf("%s got %d bytes", name, len(content))
				}
			}
			_, err := r.Contents(t.Context())
			checkRule(t, "Contents", err, "liar", test.want)
		})
	}
}

// patched compresses content and then modifies the header.
func patched(t *testing.T, content string, lie func(*zip.FileHeader)) []byte {
	t.Helper()
	return repacked(t, content, func(h *zip.FileHeader, packed []byte) []byte {
		lie(h)
		return packed
	})
}

// patchedContent compresses content and then modifies the compressed bytes.
func patchedContent(t *testing.T, content string, change func([]byte) []byte) []byte {
	t.Helper()
	return repacked(t, content, func(h *zip.FileHeader, packed []byte) []byte {
		packed = change(packed)
		h.CompressedSize64 = uint64(len(packed))
		return packed
	})
}

func repacked(t *testing.T, content string, change func(*zip.FileHeader, []byte) []byte) []byte {
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
	packed, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}
	header := z.File[0].FileHeader
	header.Flags = 0
	packed = change(&header, packed)
	return archive(t, entry{name: "docs/"}, entry{name: "liar", content: string(packed), header: func(h *zip.FileHeader) {
		*h = header
	}})
}

func TestUnpackIntoInvalidDirectory(t *testing.T) {
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
	if _, err := r.Contents(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Contents: error %v, want context.Canceled", err)
	}
}
