package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

const (
	onePath      = "registry.example.com/acme/x/terraform-provider-x_1.2.3_linux_amd64.zip"
	oneContent   = "a zip"
	otherPath    = "registry.example.com/acme/y/terraform-provider-y_1.0.0_linux_amd64.zip"
	otherContent = "another zip"
)

// aMirror stores two zips.
func aMirror(t *testing.T, s *store.Store) []store.MirrorPackage {
	t.Helper()
	return []store.MirrorPackage{
		{Path: otherPath, Zip: keep(t, s, otherContent)},
		{Path: onePath, Zip: keep(t, s, oneContent)},
	}
}

func mirror(t *testing.T, s *store.Store, packages []store.MirrorPackage) *store.Mirror {
	t.Helper()
	m, err := s.Mirror(t.Context(), packages)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	return m
}

// checkMirror reads a mirror and follows links, as clients do.
func checkMirror(t *testing.T, m *store.Mirror) {
	t.Helper()
	for path, want := range map[string]string{onePath: oneContent, otherPath: otherContent} {
		// On Windows, opening a file can fail briefly while another name of the file is
		// being removed.
		if text, err := bounded.ReadFile(filepath.Join(m.Dir(), filepath.FromSlash(path)), 1<<20); string(text) != want {
			t.Errorf("%s contains %q, %v", path, text, err)
		}
	}
}

func TestMirror(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, events := open(t, dir, false)
	packages := aMirror(t, s)
	m := mirror(t, s, packages)
	checkMirror(t, m)
	packages[0], packages[1] = packages[1], packages[0]
	other, _ := open(t, dir, true)
	again := mirror(t, other, packages)
	if again.Dir() != m.Dir() {
		t.Errorf("the same packages are in %s and in %s", m.Dir(), again.Dir())
	}
	if third := mirror(t, s, packages[:1]); third.Dir() == m.Dir() {
		t.Error("other packages are in the same directory")
	}
	// After the store is moved, the relative paths remain valid.
	must(t, errors.Join(m.Close(), again.Close(), m.Close()))
	if runtime.GOOS != "windows" {
		moved := dir + " moved"
		must(t, os.Rename(dir, moved))
		there, _ := open(t, moved, true)
		checkMirror(t, mirror(t, there, packages))
	}
	events.check(t, 0, 0)
}

func TestMirrorOfMissingPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	packages := aMirror(t, s)
	absent := func(packages []store.MirrorPackage, want string) {
		t.Helper()
		m, err := s.Mirror(t.Context(), packages)
		if !errors.Is(err, store.ErrNotCached) || !strings.Contains(err.Error(), want) || m == nil {
			t.Errorf("error %v, want that %s is absent", err, want)
		}
	}
	absent([]store.MirrorPackage{packages[1], {Path: "h/n/t/f.zip", Zip: digest.FromString("other")}}, "h/n/t/f.zip")
	// Damage is detected before a mirror links to the package.
	mirror(t, s, packages)
	patch(t, blobPath(dir, packages[1].Zip))
	absent(packages, onePath)
	aMirror(t, s)
	patch(t, blobPath(dir, packages[0].Zip))
	absent(packages, otherPath)
	events.check(t, 2, 0)
	checkMirror(t, mirror(t, s, aMirror(t, s)))
	for _, path := range []string{"../out", "/etc", "a/../../b"} {
		if _, err := s.Mirror(t.Context(), []store.MirrorPackage{{Path: path, Zip: packages[1].Zip}}); err == nil || !strings.Contains(err.Error(), "invalid path") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

func TestMirrorRepairs(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, m *store.Mirror){
		"a link is gone": func(t *testing.T, m *store.Mirror) {
			must(t, os.RemoveAll(filepath.Join(m.Dir(), "registry.example.com", "acme")))
		},
		"a link leads elsewhere": func(t *testing.T, m *store.Mirror) {
			path := filepath.Join(m.Dir(), filepath.FromSlash(onePath))
			must(t, errors.Join(os.Remove(path), os.Symlink(t.TempDir(), path)))
		},
		"a directory is where a link was": func(t *testing.T, m *store.Mirror) {
			path := filepath.Join(m.Dir(), filepath.FromSlash(onePath))
			must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "x"), nil, 0o644)))
		},
		"the zip was written over": func(t *testing.T, m *store.Mirror) {
			path := filepath.Join(m.Dir(), filepath.FromSlash(otherPath))
			must(t, errors.Join(os.Remove(path), os.WriteFile(path, []byte("x"), 0o644)))
		},
		"the lock is gone":       func(t *testing.T, m *store.Mirror) { must(t, os.Remove(filepath.Join(filepath.Dir(m.Dir()), "lock"))) },
		"it is an empty place":   func(t *testing.T, m *store.Mirror) { must(t, os.RemoveAll(filepath.Dir(m.Dir()))) },
		"the directory is empty": func(t *testing.T, m *store.Mirror) { must(t, os.RemoveAll(m.Dir())) },
	}
	for name, hurt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, events := open(t, t.TempDir(), false)
			packages := aMirror(t, s)
			m := mirror(t, s, packages)
			must(t, m.Close())
			hurt(t, m)
			checkMirror(t, mirror(t, s, packages))
			events.check(t, 0, 0)
		})
	}
}

// TestMirrorWithoutLinks checks that hard links are used if symbolic links fail. For
// unprivileged Windows users, symbolic links always fail.
func TestMirrorWithoutLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, false)
	s.LetLink(func(string, string) error { return os.ErrPermission })
	packages := aMirror(t, s)
	m := mirror(t, s, packages)
	checkMirror(t, m)
	for path, zip := range map[string]digest.Digest{onePath: packages[1].Zip, otherPath: packages[0].Zip} {
		one, err := os.Lstat(filepath.Join(m.Dir(), filepath.FromSlash(path)))
		must(t, err)
		other, err := os.Stat(blobPath(dir, zip))
		must(t, err)
		if !os.SameFile(one, other) {
			t.Errorf("%s is a copy", path)
		}
	}
	// Modified files are repaired.
	must(t, m.Close())
	zip := filepath.Join(m.Dir(), filepath.FromSlash(otherPath))
	must(t, errors.Join(os.Remove(zip), os.WriteFile(zip, []byte("x"), 0o644)))
	checkMirror(t, mirror(t, s, packages))
}

func TestPruneMirrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	packages := aMirror(t, s)
	m := mirror(t, s, packages)
	all := store.PruneOptions{MaxSize: new(int64(0))}
	other, _ := open(t, dir, false)
	// 1. Nothing is removed while the mirror is in use. Even its zip is kept.
	p, err := other.Prune(t.Context(), all)
	must(t, err)
	if len(p.InUse) != 3 || len(p.Removed)+len(p.Kept) != 0 {
		t.Errorf("removed %v, in use %v", p.Removed, p.InUse)
	}
	checkMirror(t, m)
	must(t, m.Close())
	// 2. The least recently used entry is removed first.
	long := time.Now().Add(-48 * time.Hour)
	must(t, os.Chtimes(filepath.Join(filepath.Dir(m.Dir()), "record"), long, long))
	p, err = other.Prune(t.Context(), store.PruneOptions{MaxAge: new(24 * time.Hour)})
	must(t, err)
	if len(p.Removed) != 1 || p.Removed[0].Kind != "mirror" || len(p.Kept) != 2 {
		t.Errorf("removed %v, kept %v", p.Removed, p.Kept)
	}
	// 3. A mirror that is created again has the same path. Its packages can be removed
	// before the mirror.
	again := mirror(t, s, packages)
	if again.Dir() != m.Dir() {
		t.Errorf("it was %s and is %s", m.Dir(), again.Dir())
	}
	must(t, again.Close())
	must(t, os.Remove(blobPath(dir, packages[1].Zip)))
	if _, err := s.Mirror(t.Context(), packages); err == nil {
		t.Error("a link leads nowhere, and it is used")
	}
	checkMirror(t, mirror(t, s, aMirror(t, s)))
	events.check(t, 0, 0)
}

// TestMirrorConcurrent checks that mirrors are complete while other goroutines create, use,
// and prune them.
func TestMirrorConcurrent(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			s, _ := open(t, dir, false)
			for i := range 20 {
				packages := aMirror(t, s)
				m, err := s.Mirror(t.Context(), packages)
				if errors.Is(err, store.ErrNotCached) {
					continue // another goroutine has pruned the mirror
				}
				if err != nil {
					t.Error(err)
					return
				}
				checkMirror(t, m)
				must(t, m.Close())
				if i%5 == 0 {
					if _, err := s.Prune(t.Context(), store.PruneOptions{MaxSize: new(int64(0))}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	noLitter(t, dir)
}

func TestMirrorInterrupted(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir(), false)
	packages := aMirror(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Mirror(ctx, packages); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	checkMirror(t, mirror(t, s, packages))
}

func TestKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, events := open(t, dir, false)
	const name = "registry.example.com/acme/x 1.2.3 linux_amd64"
	zip, tree := keep(t, s, "a zip"), putTree(t, s, aPackage)
	if got := s.CachedZips(name); got != nil {
		t.Errorf("it knows %v", got)
	}
	first, second := store.CachedZip{Zip: zip, Hashes: store.Hashes{H1: "h1:a"}}, store.CachedZip{Zip: tree, Hashes: store.Hashes{Unpacked: "h1:b"}}
	for _, k := range []store.CachedZip{second, first, second} {
		s.RecordZip(name, k)
	}
	if diff := cmp.Diff([]store.CachedZip{second, first}, s.CachedZips(name)); diff != "" {
		t.Error(diff)
	}
	if got := s.CachedZips(name + "x"); got != nil {
		t.Errorf("it knows %v", got)
	}
	// Records of packages are removed when all of their zips have been removed.
	prune := func(want int) {
		t.Helper()
		_, err := s.Prune(t.Context(), store.PruneOptions{})
		must(t, err)
		if got := s.CachedZips(name); len(got) != want {
			t.Errorf("it knows %v, want %d", got, want)
		}
	}
	must(t, os.Remove(blobPath(dir, zip)))
	prune(2)
	must(t, os.RemoveAll(treePath(dir, tree)))
	prune(0)
	for i := range 100 {
		s.RecordZip(name, store.CachedZip{Zip: digest.FromString(string(rune('a' + i)))})
	}
	if got := len(s.CachedZips(name)); got == 0 || got > 20 {
		t.Errorf("it remembers %d", got)
	}
	var none *store.Store
	none.RecordZip(name, first)
	if got := none.CachedZips(name); got != nil {
		t.Errorf("nothing knows %v", got)
	}
	events.check(t, 0, 0)
}
