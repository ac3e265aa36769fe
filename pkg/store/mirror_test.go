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

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	unpackedPath = "registry.example.com/acme/x/1.2.3/linux_amd64"
	packedPath   = "registry.example.com/acme/y/terraform-provider-y_1.0.0_linux_amd64.zip"
	zipContent   = "a zip that stays one"
)

// aMirror stores a zip and an unpacked package.
func aMirror(t *testing.T, s *store.Store) []store.MirrorPackage {
	t.Helper()
	return []store.MirrorPackage{
		{Path: packedPath, Zip: keep(t, s, zipContent), Packed: true},
		{Path: unpackedPath, Zip: putTree(t, s, aPackage)},
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
	dirs := []string{m.Dir()}
	if m.PluginCacheDir() != "" {
		dirs = append(dirs, m.PluginCacheDir())
	}
	for _, dir := range dirs {
		at, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(unpackedPath)))
		must(t, err)
		if diff := cmp.Diff(aPackage, contents(t, at)); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
	// On Windows, opening a file can fail briefly while another name of the file is
	// being removed.
	if text, err := bounded.ReadFile(filepath.Join(m.Dir(), filepath.FromSlash(packedPath)), 1<<20); string(text) != zipContent {
		t.Errorf("the zip is %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(m.PluginCacheDir(), filepath.FromSlash(packedPath))); err == nil {
		t.Error("the plugin cache contains a zip")
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
	if again.Dir() != m.Dir() || again.PluginCacheDir() != m.PluginCacheDir() {
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

func TestMirrorProtectsFiles(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir(), false)
	m := mirror(t, s, aMirror(t, s))
	for name := range aPackage {
		info, err := os.Stat(filepath.Join(m.Dir(), filepath.FromSlash(unpackedPath), filepath.FromSlash(name)))
		must(t, err)
		if info.Mode().IsRegular() && info.Mode()&0o222 != 0 {
			t.Errorf("%s may be written to: %s", name, info.Mode())
		}
	}
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
	absent([]store.MirrorPackage{packages[1], {Path: "h/n/t/1.0.0/linux_amd64", Zip: digest.FromString("other")}}, "h/n/t/1.0.0/linux_amd64")
	absent([]store.MirrorPackage{{Path: "h/n/t/f.zip", Zip: digest.FromString("other"), Packed: true}}, "h/n/t/f.zip")
	// Damage is detected before a mirror links to the package.
	mirror(t, s, packages)
	patch(t, treePath(dir, packages[1].Zip, "files", "terraform-provider-x"))
	absent(packages, unpackedPath)
	aMirror(t, s)
	patch(t, blobPath(dir, packages[0].Zip))
	absent(packages, packedPath)
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
			path := filepath.Join(m.Dir(), filepath.FromSlash(unpackedPath))
			must(t, errors.Join(os.Remove(path), os.Symlink(t.TempDir(), path)))
		},
		"a directory is where a link was": func(t *testing.T, m *store.Mirror) {
			path := filepath.Join(m.Dir(), filepath.FromSlash(unpackedPath))
			must(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "x"), nil, 0o644)))
		},
		"the zip was written over": func(t *testing.T, m *store.Mirror) {
			path := filepath.Join(m.Dir(), filepath.FromSlash(packedPath))
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

// TestPluginsOfClients checks that files that a client has added to the plugin cache
// are kept.
func TestPluginsOfClients(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir(), false)
	packages := aMirror(t, s)
	m := mirror(t, s, packages)
	own := filepath.Join(m.PluginCacheDir(), "registry.example.com", "acme", "other", "1.0.0", "linux_amd64")
	instead := filepath.Join(m.PluginCacheDir(), filepath.FromSlash(unpackedPath))
	must(t, errors.Join(os.MkdirAll(own, 0o755), os.Remove(instead), os.Mkdir(instead, 0o755)))
	must(t, m.Close())
	mirror(t, s, packages)
	for _, dir := range []string{own, instead} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s is gone: %v", dir, err)
		}
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
	if m.PluginCacheDir() != "" {
		t.Error("it has a plugin cache")
	}
	at := filepath.Join(m.Dir(), filepath.FromSlash(unpackedPath))
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		t.Errorf("it is a link: %v", err)
	}
	for path, of := range map[string]string{
		filepath.Join(at, "terraform-provider-x"):              treePath(dir, packages[1].Zip, "files", "terraform-provider-x"),
		filepath.Join(m.Dir(), filepath.FromSlash(packedPath)): blobPath(dir, packages[0].Zip),
	} {
		one, err := os.Stat(path)
		must(t, err)
		other, err := os.Stat(of)
		must(t, err)
		if !os.SameFile(one, other) {
			t.Errorf("%s is a copy", path)
		}
	}
	// Modified files are repaired.
	must(t, m.Close())
	must(t, errors.Join(os.Remove(filepath.Join(at, "terraform-provider-x")), os.WriteFile(filepath.Join(at, "more"), nil, 0o644)))
	zip := filepath.Join(m.Dir(), filepath.FromSlash(packedPath))
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
	must(t, os.RemoveAll(treePath(dir, packages[1].Zip)))
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
	if got := s.Known(name); got != nil {
		t.Errorf("it knows %v", got)
	}
	first, second := store.Known{Zip: zip, Hashes: store.Hashes{H1: "h1:a"}}, store.Known{Zip: tree, Hashes: store.Hashes{Unpacked: "h1:b"}}
	for _, k := range []store.Known{second, first, second} {
		s.Remember(name, k)
	}
	if diff := cmp.Diff([]store.Known{second, first}, s.Known(name)); diff != "" {
		t.Error(diff)
	}
	if got := s.Known(name + "x"); got != nil {
		t.Errorf("it knows %v", got)
	}
	// Records of packages are removed when all of their zips have been removed.
	prune := func(want int) {
		t.Helper()
		_, err := s.Prune(t.Context(), store.PruneOptions{})
		must(t, err)
		if got := s.Known(name); len(got) != want {
			t.Errorf("it knows %v, want %d", got, want)
		}
	}
	must(t, os.Remove(blobPath(dir, zip)))
	prune(2)
	must(t, os.RemoveAll(treePath(dir, tree)))
	prune(0)
	for i := range 100 {
		s.Remember(name, store.Known{Zip: digest.FromString(string(rune('a' + i)))})
	}
	if got := len(s.Known(name)); got == 0 || got > 20 {
		t.Errorf("it remembers %d", got)
	}
	var none *store.Store
	none.Remember(name, first)
	if got := none.Known(name); got != nil {
		t.Errorf("nothing knows %v", got)
	}
	events.check(t, 0, 0)
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, events := open(t, dir, false)
	d := digest.FromString("zip")
	filled := 0
	put := func(dir string) (store.Hashes, error) {
		filled++
		fill(t, dir, aPackage)
		h1, err := sums.H1Dir(dir)
		return store.Hashes{H1: "h1:zip", Unpacked: h1}, err
	}
	problem := errors.New("a wrong zip")
	err := s.Unpack(t.Context(), d, func(dir string) (store.Hashes, error) {
		_, _ = put(dir)
		return store.Hashes{}, problem
	})
	if !errors.Is(err, problem) {
		t.Errorf("error %v", err)
	}
	if _, ok := s.Tree(t.Context(), d); ok {
		t.Error("a failure left a package")
	}
	for range 2 {
		must(t, s.Unpack(t.Context(), d, put))
	}
	got, ok := takeTree(t, s, d)
	if diff := cmp.Diff(aPackage, contents(t, got)); !ok || diff != "" || filled != 3 {
		t.Errorf("%v, filled %d times: %s", ok, filled, diff)
	}
	if err := s.Unpack(t.Context(), "sha512:x", put); err == nil {
		t.Error("an invalid digest is accepted")
	}
	events.check(t, 0, 0)
	noLitter(t, dir)
	full := errors.New("full")
	s.LetCreate(func(string) (store.File, error) { return nil, full })
	if err := s.Unpack(t.Context(), digest.FromString("another"), put); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	atomicfile.Sweep(dir)
	noLitter(t, dir)
}
