package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// filled is a store with four entries of at least ten bytes, alternately zips and
// packages. They were last used four, three, two, and one days ago.
type filled struct {
	*store.Store
	dir     string
	digests []digest.Digest
	used    []time.Time
}

func newFilled(t *testing.T) filled {
	t.Helper()
	f := filled{dir: t.TempDir()}
	f.Store, _ = open(t, f.dir, false)
	for i := range 4 {
		var d digest.Digest
		var record string
		if i%2 == 0 {
			d = keep(t, f.Store, fmt.Sprintf("zip no. %d.", i))
			record = recordPath(f.dir, d)
		} else {
			d = putTree(t, f.Store, map[string]string{"file": fmt.Sprintf("file no. %d", i)})
			record = treePath(f.dir, d, "record")
		}
		at := time.Now().Truncate(time.Second).Add(time.Duration(i-4) * 24 * time.Hour)
		must(t, os.Chtimes(record, at, at))
		f.digests, f.used = append(f.digests, d), append(f.used, at)
	}
	return f
}

// names returns the indexes of the entries.
func (f filled) names(entries []store.Entry) string {
	var names []string
	for _, e := range entries {
		for i, d := range f.digests {
			if d == e.Digest {
				names = append(names, fmt.Sprint(i))
			}
		}
	}
	return strings.Join(names, " ")
}

func (f filled) entries(t *testing.T) []store.Entry {
	t.Helper()
	entries, err := f.Entries(t.Context())
	must(t, err)
	return entries
}

func TestEntries(t *testing.T) {
	t.Parallel()
	f := newFilled(t)
	entries := f.entries(t)
	if got := f.names(entries); got != "0 1 2 3" {
		t.Errorf("the entries are %s", got)
	}
	for i, e := range entries {
		kind := []string{"zip", "unpacked"}[i%2]
		if e.Kind != kind || e.Size < 10 || !e.Used.Equal(f.used[i]) {
			t.Errorf("no. %d is %+v", i, e)
		}
	}
	// Using an entry updates its time of last use, even if another process uses it.
	other, _ := open(t, f.dir, false)
	if _, ok := take(t, other, f.digests[0]); !ok {
		t.Error("it is gone")
	}
	if _, ok := takeTree(t, other, f.digests[1]); !ok {
		t.Error("it is gone")
	}
	if got := f.names(f.entries(t)); got != "2 3 0 1" {
		t.Errorf("the entries are %s", got)
	}
}

func TestEntriesEmpty(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, _ := open(t, dir, false)
	entries, err := s.Entries(t.Context())
	if len(entries) != 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	pruned, err := s.Prune(t.Context(), store.PruneOptions{MaxSize: new(int64)})
	if diff := cmp.Diff(store.Pruned{}, pruned); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("looking made the directory")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	size := func(n int64) *int64 { return &n }
	days := func(n float64) *time.Duration { return new(time.Duration(n * float64(24*time.Hour))) }
	sizes := func(t *testing.T, f filled, from int) *int64 {
		t.Helper()
		var sum int64
		for _, e := range f.entries(t)[from:] {
			sum += e.Size
		}
		return &sum
	}
	for name, test := range map[string]struct {
		options func(t *testing.T, f filled) store.PruneOptions
		removed string
	}{
		"no limits":    {func(*testing.T, filled) store.PruneOptions { return store.PruneOptions{} }, ""},
		"nothing fits": {func(*testing.T, filled) store.PruneOptions { return store.PruneOptions{MaxSize: size(0)} }, "0 1 2 3"},
		"all fits":     {func(t *testing.T, f filled) store.PruneOptions { return store.PruneOptions{MaxSize: sizes(t, f, 0)} }, ""},
		"two fit":      {func(t *testing.T, f filled) store.PruneOptions { return store.PruneOptions{MaxSize: sizes(t, f, 2)} }, "0 1"},
		"not quite": {func(t *testing.T, f filled) store.PruneOptions {
			return store.PruneOptions{MaxSize: size(*sizes(t, f, 2) - 1)}
		}, "0 1 2"},
		"old ones":       {func(*testing.T, filled) store.PruneOptions { return store.PruneOptions{MaxAge: days(2.5)} }, "0 1"},
		"all":            {func(*testing.T, filled) store.PruneOptions { return store.PruneOptions{MaxAge: days(0.5)} }, "0 1 2 3"},
		"none is so old": {func(*testing.T, filled) store.PruneOptions { return store.PruneOptions{MaxAge: days(5)} }, ""},
		"size counts": {func(t *testing.T, f filled) store.PruneOptions {
			return store.PruneOptions{MaxAge: days(3.5), MaxSize: sizes(t, f, 3)}
		}, "0 1 2"},
		"age counts": {func(t *testing.T, f filled) store.PruneOptions {
			return store.PruneOptions{MaxAge: days(1.5), MaxSize: sizes(t, f, 1)}
		}, "0 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilled(t)
			o := test.options(t, f)
			for _, dry := range []bool{true, false} {
				o.DryRun = dry
				before := f.entries(t)
				pruned, err := f.Prune(t.Context(), o)
				must(t, err)
				if got := f.names(pruned.Removed); got != test.removed || len(pruned.InUse) > 0 {
					t.Errorf("dry %v: %q are removed, want %q; in use are %v", dry, got, test.removed, pruned.InUse)
				}
				left := f.names(f.entries(t))
				if dry && left != f.names(before) || !dry && left != f.names(pruned.Kept) {
					t.Errorf("dry %v: %q are left, %q are reported", dry, left, f.names(pruned.Kept))
				}
			}
			noLitter(t, f.dir)
		})
	}
}

// TestPruneKeepsUsedPackages checks that Prune keeps a package that is being copied,
// and that an open zip remains readable.
func TestPruneKeepsUsedPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	d := putTree(t, s, aPackage)
	zip := keep(t, s, "the content of a zip")
	user, _ := open(t, dir, false)
	tree, ok := user.Tree(t.Context(), d)
	if !ok {
		t.Fatal("it is not there")
	}
	blob, ok := user.Blob(t.Context(), zip)
	if !ok {
		t.Fatal("it is not there")
	}
	for _, dry := range []bool{true, false} {
		pruned, err := s.Prune(t.Context(), store.PruneOptions{MaxSize: new(int64), DryRun: dry})
		must(t, err)
		if len(pruned.InUse) == 0 || pruned.InUse[len(pruned.InUse)-1].Digest != d && pruned.InUse[0].Digest != d {
			t.Errorf("dry %v: removed %v, in use %v", dry, pruned.Removed, pruned.InUse)
		}
	}
	to := t.TempDir()
	must(t, tree.CopyTo(t.Context(), to, true))
	if diff := cmp.Diff(aPackage, contents(t, to)); diff != "" {
		t.Error(diff)
	}
	if text := make([]byte, blob.Size()); runtime.GOOS != "windows" {
		if _, err := blob.File().ReadAt(text, 0); err != nil || string(text) != "the content of a zip" {
			t.Errorf("it reads %q, %v", text, err)
		}
	}
	must(t, blob.Close())
	must(t, tree.Close())
	_, err := s.Prune(t.Context(), store.PruneOptions{MaxSize: new(int64)})
	must(t, err)
	if entries, err := s.Entries(t.Context()); len(entries) > 0 || err != nil {
		t.Errorf("%v are left, %v", entries, err)
	}
	events.check(t, 0, 0)
}

// TestPruneRemovesLeftovers checks that Prune removes temporary files that are older
// than a day and all records that have no zip.
func TestPruneRemovesLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, false)
	d := keep(t, s, "content")
	must(t, os.Remove(blobPath(dir, d)))
	putTree(t, s, aPackage)
	at := time.Now().Add(-48 * time.Hour)
	for _, folder := range []string{"", "blobs/sha256", "unpacked/sha256", "records/sha256"} {
		for name, old := range map[string]bool{"OLD": true, "NEW": false} {
			path := filepath.Join(dir, filepath.FromSlash(folder), ".tofu-oci-"+name+".tmp")
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte("half"), 0o644))
			if old {
				must(t, os.Chtimes(path, at, at))
			}
		}
	}
	_, err := s.Prune(t.Context(), store.PruneOptions{})
	must(t, err)
	if _, err := os.Lstat(recordPath(dir, d)); err == nil {
		t.Error("the record is left")
	}
	for pattern, want := range map[string]int{"OLD": 0, "NEW": 3} {
		left, err := filepath.Glob(filepath.Join(dir, "*", "*", ".tofu-oci-"+pattern+".tmp"))
		if len(left) != want || err != nil {
			t.Errorf("%q are left, %v", left, err)
		}
	}
}
