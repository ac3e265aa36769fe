package store_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// fullFile writes to /dev/full after left bytes were written.
type fullFile struct {
	store.File
	full *os.File
	left int
}

func (f *fullFile) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return f.full.Write(p)
	}
	return f.File.Write(p)
}

// TestFullDisk checks that a full disk causes no error. The failure is reported once,
// and partial files are removed to free the space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	must(t, err)
	defer full.Close()
	content := strings.Repeat("content ", 1<<16)
	for name, fits := range map[string]int{"at once": 0, "half-way": len(content) / 2} {
		dir := t.TempDir()
		s, events := open(t, dir, false)
		keep(t, s, "before")
		s.LetCreate(func(path string) (store.File, error) {
			f, err := atomicfile.Create(path, 0o644)
			return &fullFile{f, full, fits}, err
		})
		for range 2 {
			body := s.Keep(digest.FromString(content), int64(len(content)), io.NopCloser(strings.NewReader(content)))
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || string(got) != content {
				t.Errorf("%s: %d bytes came, %v", name, len(got), err)
			}
		}
		events.check(t, 0, 1)
		if !errors.Is(events.failed[0], syscall.ENOSPC) {
			t.Errorf("%s: got %v", name, events.failed[0])
		}
		noLitter(t, dir)
		if _, ok := take(t, s, digest.FromString(content)); ok {
			t.Errorf("%s: it was kept", name)
		}
		checkTaken(t, s, "before") // existing entries remain usable
	}
}

func TestFullDiskForTrees(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	must(t, err)
	defer full.Close()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	s.LetCreate(func(path string) (store.File, error) {
		f, err := atomicfile.Create(path, 0o644)
		return &fullFile{f, full, 0}, err
	})
	d := putTree(t, s, aPackage)
	events.check(t, 0, 1)
	if _, ok := s.Tree(t.Context(), d); ok {
		t.Error("it was kept")
	}
	noLitter(t, dir)
}
