package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// callbackLog records the calls of a store's callbacks.
type callbackLog struct {
	mu      sync.Mutex
	damaged []string
	failed  []error
}

func (s *callbackLog) check(t *testing.T, damaged, failed int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.damaged) != damaged || len(s.failed) != failed {
		t.Errorf("told of damage: %q, of failures: %v; want %d and %d", s.damaged, s.failed, damaged, failed)
	}
}

// open opens a store with the given Recheck option.
func open(t *testing.T, dir string, recheck bool) (*store.Store, *callbackLog) {
	t.Helper()
	events := &callbackLog{}
	s, err := store.Open(dir, store.Options{
		Recheck: recheck,
		OnDamaged: func(path string, why error) {
			events.mu.Lock()
			defer events.mu.Unlock()
			events.damaged = append(events.damaged, fmt.Sprintf("%s: %v", path, why))
		},
		OnFailed: func(err error) {
			events.mu.Lock()
			defer events.mu.Unlock()
			events.failed = append(events.failed, err)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, events
}

// keep reads all of the content while the store keeps it.
func keep(t *testing.T, s *store.Store, content string) digest.Digest {
	t.Helper()
	d := digest.FromString(content)
	body := s.Keep(d, int64(len(content)), io.NopCloser(strings.NewReader(content)))
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil || string(got) != content {
		t.Fatalf("%d bytes came through, %v", len(got), err)
	}
	return d
}

// take reads a zip from the store. It returns false if the store doesn't have the zip.
func take(t *testing.T, s *store.Store, d digest.Digest) (string, bool) {
	t.Helper()
	blob, ok := s.Blob(t.Context(), d)
	if !ok {
		return "", false
	}
	body := blob.Verified(t.Context(), "a zip")
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(got), true
}

func checkTaken(t *testing.T, s *store.Store, content string) {
	t.Helper()
	if got, ok := take(t, s, digest.FromString(content)); !ok || got != content {
		t.Errorf("it has %q, %v; want %q", got, ok, content)
	}
}

func blobPath(dir string, d digest.Digest) string {
	return filepath.Join(dir, "blobs", "sha256", d.Encoded())
}

func recordPath(dir string, d digest.Digest) string {
	return filepath.Join(dir, "records", "sha256", d.Encoded())
}

func treePath(dir string, d digest.Digest, names ...string) string {
	return filepath.Join(append([]string{dir, "unpacked", "sha256", d.Encoded()}, names...)...)
}

// aPackage contains the files of an unpacked package.
var aPackage = map[string]string{"terraform-provider-x": "program", "docs/index.md": "text", "docs/more/": ""}

// fill writes files. A name with a trailing slash is a directory. Providers are
// executable.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, "terraform-provider-") {
			mode = 0o755
		}
		must(t, os.WriteFile(path, []byte(content), mode))
	}
}

// contents returns the files in a directory, in the form of [aPackage].
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if below, err := os.ReadDir(path); err != nil || len(below) == 0 {
				found[name+"/"] = ""
			}
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	}))
	return found
}

// putTree stores a package and returns the digest of its zip.
func putTree(t *testing.T, s *store.Store, files map[string]string) digest.Digest {
	t.Helper()
	dir := t.TempDir()
	fill(t, dir, files)
	h1, err := sums.H1Dir(dir)
	must(t, err)
	d := digest.FromString("the zip of " + h1)
	s.PutTree(t.Context(), d, store.Hashes{H1: "h1:of the zip", Unpacked: h1}, dir)
	return d
}

// takeTree copies a package from the store.
func takeTree(t *testing.T, s *store.Store, d digest.Digest) (dir string, ok bool) {
	t.Helper()
	tree, ok := s.Tree(t.Context(), d)
	if !ok {
		return "", false
	}
	defer func() { must(t, tree.Close()) }()
	dir = t.TempDir()
	must(t, tree.CopyTo(t.Context(), dir, true))
	return dir, true
}

// noLitter checks that no temporary files exist.
func noLitter(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(path), ".tofu-oci-") {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patch changes a byte of a file in place.
func patch(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	text = bytes.Clone(text)
	text[len(text)/2] ^= 1
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Chmod(path, info.Mode()|0o200)) // simulates a user who edits a read-only file on purpose
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(text, 0)
	must(t, errors.Join(err, f.Close()))
}
