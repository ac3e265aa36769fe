package store_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestDamagedZips checks that damage is detected on use and reported once. Keeping the
// zip again repairs the damage.
func TestDamagedZips(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	for name, damage := range map[string]func(t *testing.T, path string){
		"changed in place": patch,
		"replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte("THE CONTENT OF A ZIP"), 0o644))
			must(t, os.Rename(path+".new", path))
		},
		"shorter": func(t *testing.T, path string) { must(t, os.Truncate(path, 3)) },
		"empty":   func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
		"longer":  func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(content+"x"), 0o644)) },
		"a directory": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o755))
		},
	} {
		for _, recheck := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s, events := open(t, dir, recheck)
				d := keep(t, s, content)
				damage(t, blobPath(dir, d))
				if got, ok := take(t, s, d); ok {
					t.Errorf("got %q", got)
				}
				events.check(t, 1, 0)
				if !strings.Contains(events.damaged[0], blobPath(dir, d)) {
					t.Errorf("got %q", events.damaged[0])
				}
				if _, ok := take(t, s, d); ok {
					t.Error("it is back")
				}
				events.check(t, 1, 0)
				keep(t, s, content)
				checkTaken(t, s, content)
				events.check(t, 1, 0)
			})
		}
	}
}

// TestZipsWithChangedMetadata checks zips whose file metadata has changed, for example
// because the cache was copied. The zips are rehashed once and then trusted.
func TestZipsWithChangedMetadata(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := keep(t, s, content)
	at := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(blobPath(dir, d), at, at))
	before, err := os.ReadFile(recordPath(dir, d))
	must(t, err)
	checkTaken(t, s, content)
	after, err := os.ReadFile(recordPath(dir, d))
	must(t, err)
	if string(before) == string(after) {
		t.Error("the record is not renewed")
	}
	must(t, os.Remove(recordPath(dir, d)))
	checkTaken(t, s, content)
	if again, err := os.ReadFile(recordPath(dir, d)); err != nil || string(again) != string(after) {
		t.Errorf("the record is %q, %v", again, err)
	}
	events.check(t, 0, 0)
}

// rot corrupts a zip without a trace. The record matches the metadata of the corrupted
// file.
func rot(t *testing.T, dir string, d digest.Digest) {
	t.Helper()
	patch(t, blobPath(dir, d))
	info, err := os.Lstat(blobPath(dir, d))
	must(t, err)
	must(t, os.WriteFile(recordPath(dir, d), []byte(atomicfile.StampOf(info).String()), 0o644))
}

func TestRecheckDetectsCorruption(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, true)
	d := keep(t, s, "the content of a zip")
	rot(t, dir, d)
	if got, ok := take(t, s, d); ok {
		t.Errorf("got %q", got)
	}
	events.check(t, 1, 0)
}

// TestReadingDetectsCorruption checks that the verifying reader of a blob detects
// corruption.
func TestReadingDetectsCorruption(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := keep(t, s, "the content of a zip")
	rot(t, dir, d)
	blob, ok := s.Blob(t.Context(), d)
	if !ok {
		t.Fatal("what looks right is not trusted")
	}
	body := blob.Verified(t.Context(), "x.zip")
	got, err := io.ReadAll(body)
	_ = body.Close()
	if _, mismatch := errors.AsType[*sums.MismatchError](err); !mismatch || int64(len(got)) >= blob.Size() {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	events.check(t, 1, 0)
	if _, ok := take(t, s, d); ok {
		t.Error("it is still there")
	}
}

// TestChangedWhileCopied checks that Unchanged detects a file that was changed during a
// copy.
func TestChangedWhileCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := keep(t, s, "the content of a zip")
	blob, ok := s.Blob(t.Context(), d)
	if !ok {
		t.Fatal("it is not there")
	}
	defer blob.Close()
	must(t, blob.Unchanged())
	must(t, os.Truncate(blobPath(dir, d), 3))
	if blob.Unchanged() == nil {
		t.Error("nothing is noticed")
	}
	events.check(t, 1, 0)
}

// TestRemovedDuringCopy checks that Unchanged succeeds if another process removes or
// replaces the file. The removal updates the open file's change time, but not its
// content.
func TestRemovedDuringCopy(t *testing.T) {
	t.Parallel()
	const content = "the content of a zip"
	for name, change := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", []byte(content), 0o644))
			must(t, os.Rename(path+".new", path))
		},
	} {
		if runtime.GOOS == "windows" {
			continue // Windows does not allow removing an open file
		}
		dir := t.TempDir()
		s, events := open(t, dir, false)
		d := keep(t, s, content)
		blob, ok := s.Blob(t.Context(), d)
		if !ok {
			t.Fatal("it is not there")
		}
		change(t, blobPath(dir, d))
		if err := blob.Unchanged(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, blob.Close())
		events.check(t, 0, 0)
	}
}
