package store_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// TestBrokenStore checks that content can still be read if the store fails, and that
// the failure is reported once.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string)
		size  int64
		want  error
	}{
		"no directory":         {func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, "blobs"), nil, 0o644)) }, 7, syscall.ENOTDIR},
		"less space than that": {func(*testing.T, string) {}, 1 << 60, syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first, _ := open(t, dir, false)
			keep(t, first, "first")
			must(t, os.RemoveAll(filepath.Join(dir, "blobs")))
			test.spoil(t, dir)
			s, events := open(t, dir, false)
			for _, content := range []string{"content", "another"} {
				body := s.Keep(digest.FromString(content), test.size, io.NopCloser(strings.NewReader(content)))
				got, err := io.ReadAll(body)
				must(t, errors.Join(err, body.Close()))
				if string(got) != content {
					t.Errorf("%q came", got)
				}
			}
			events.check(t, 0, 1)
			if !errors.Is(events.failed[0], test.want) {
				t.Errorf("got %v", events.failed[0])
			}
		})
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	var s *store.Store
	d := keep(t, s, "content")
	if _, ok := take(t, s, d); ok {
		t.Error("an empty store has a zip")
	}
	putTree(t, s, aPackage)
	if _, ok := s.Tree(t.Context(), d); ok {
		t.Error("an empty store has a package")
	}
}

func TestOtherDigests(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, events := open(t, dir, false)
	for _, d := range []digest.Digest{"", "sha256:../../x", digest.Digest("sha512:" + strings.Repeat("ab", 64))} {
		body := s.Keep(d, 7, io.NopCloser(strings.NewReader("content")))
		_, err := io.Copy(io.Discard, body)
		must(t, errors.Join(err, body.Close()))
		if _, ok := s.Blob(t.Context(), d); ok {
			t.Errorf("%q is there", d)
		}
		s.PutTree(t.Context(), d, store.Hashes{}, t.TempDir())
		if _, ok := s.Tree(t.Context(), d); ok {
			t.Errorf("%q is there, unpacked", d)
		}
	}
	events.check(t, 0, 0)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make    func(t *testing.T, dir string)
		refused bool
	}{
		"a file":          {func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o644)) }, true},
		"an image layout": {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755)) }, true},
		"another cache": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "unpacked"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "CACHEDIR.TAG"), []byte("Signature: 8a477f597d28d172789f06886806bc55\n"), 0o644))
		}, true},
		"a volume":           {func(t *testing.T, dir string) { must(t, os.MkdirAll(filepath.Join(dir, "lost+found"), 0o755)) }, false},
		"an empty directory": {func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o755)) }, false},
		"nothing":            {func(*testing.T, string) {}, false},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		test.make(t, dir)
		_, err := store.Open(dir, store.Options{})
		if refused := errors.Is(err, store.ErrNotCache); refused != test.refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
