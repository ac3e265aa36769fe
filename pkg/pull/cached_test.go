package pull_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// cachedWorld is an origin registry with a provider, and a cache.
type cachedWorld struct {
	origin  *origintest.Origin
	source  provider.Source
	dir     string
	recheck bool
	damaged atomic.Int32
	failed  atomic.Int32
}

func newCachedWorld(t *testing.T) *cachedWorld {
	t.Helper()
	w := &cachedWorld{dir: filepath.Join(t.TempDir(), "cache")}
	offered, src := offer(t, 1000, "acme/one")
	w.origin, w.source = offered, src
	return w
}

// pull pulls to a new directory with a separate store, like a separate process. It
// returns the directory and the number of fetched zips.
func (w *cachedWorld) pull(t *testing.T, layout pull.Layout) (dir string, fetched int) {
	t.Helper()
	cache, err := store.Open(w.dir, store.Options{
		Recheck: w.recheck, OnDamaged: func(string, error) { w.damaged.Add(1) }, OnFailed: func(error) { w.failed.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	sink, err := pull.NewSink(layout, dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	before := w.origin.Requests()[origintest.Zip]
	src := source.NewCached(w.source, cache, source.CacheOptions{})
	r := requirements(t, "acme/one@1.0.0")[0]
	v, _ := r.Constraint.Exact()
	o := pull.Options{Platforms: []provider.Platform{haiku}}
	if _, err := pull.Release(t.Context(), src, sink, r.Address, v, o); err != nil {
		t.Fatal(err)
	}
	return dir, w.origin.Requests()[origintest.Zip] - before
}

// entries returns the paths of the zip and of the unpacked package in the cache.
func (w *cachedWorld) entries(t *testing.T) (zip, tree string) {
	t.Helper()
	for kind, path := range map[string]*string{"blobs": &zip, "unpacked": &tree} {
		found, err := filepath.Glob(filepath.Join(w.dir, kind, "sha256", "*"))
		if err != nil || len(found) > 1 {
			t.Fatalf("%q, %v", found, err)
		}
		if len(found) == 1 {
			*path = found[0]
		}
	}
	return zip, tree
}

// TestCachedPull checks that every layout contains the same files, whether they come
// from the cache or the origin registry. Modifying earlier output must not affect the
// cache.
func TestCachedPull(t *testing.T) {
	t.Parallel()
	for _, layout := range pull.Layouts() {
		for _, recheck := range []bool{false, true} {
			t.Run(string(layout), func(t *testing.T) {
				t.Parallel()
				w := newCachedWorld(t)
				w.recheck = recheck
				first, fetched := w.pull(t, layout)
				if fetched != 1 {
					t.Errorf("%d zips were fetched", fetched)
				}
				want := sinkFiles(t, first)
				for range 2 {
					again, fetched := w.pull(t, layout)
					if diff := cmp.Diff(want, sinkFiles(t, again)); diff != "" || fetched != 0 {
						t.Errorf("%d zips were fetched %s", fetched, diff)
					}
					corrupt(t, again)
				}
				for _, other := range pull.Layouts() {
					if _, fetched := w.pull(t, other); fetched != 0 {
						t.Errorf("%s: %d zips were fetched", other, fetched)
					}
				}
				if w.damaged.Load() != 0 || w.failed.Load() != 0 {
					t.Error("the cache reports an error")
				}
			})
		}
	}
}

// corrupt modifies each file below a directory in place.
func corrupt(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte("spoilt"), 0)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCachedPullOfDamage checks that corrupt cache entries never reach the output. They
// are reported and restored.
func TestCachedPullOfDamage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		layout pull.Layout
		damage func(t *testing.T, w *cachedWorld)
		// fetched is the expected number of fetched zips.
		fetched int
	}{
		"a zip": {pull.LayoutZip, func(t *testing.T, w *cachedWorld) {
			zip, _ := w.entries(t)
			corrupt(t, zip)
		}, 1},
		"a package": {pull.LayoutUnpacked, func(t *testing.T, w *cachedWorld) {
			_, tree := w.entries(t)
			corrupt(t, filepath.Join(tree, "files"))
		}, 0},
		"a zip to unpack, without a record": {pull.LayoutUnpacked, func(t *testing.T, w *cachedWorld) {
			zip, tree := w.entries(t)
			if err := os.RemoveAll(tree); err != nil {
				t.Fatal(err)
			}
			corrupt(t, zip)
			info, err := os.Stat(zip)
			if err != nil {
				t.Fatal(err)
			}
			record := filepath.Join(w.dir, "records", "sha256", filepath.Base(zip))
			if err := os.WriteFile(record, []byte(atomicfile.StampOf(info).String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCachedWorld(t)
			first, _ := w.pull(t, test.layout)
			want := sinkFiles(t, first)
			test.damage(t, w)
			again, fetched := w.pull(t, test.layout)
			if diff := cmp.Diff(want, sinkFiles(t, again)); diff != "" || fetched != test.fetched || w.damaged.Load() != 1 {
				t.Errorf("%d zips were fetched, damage was reported %d times %s", fetched, w.damaged.Load(), diff)
			}
			again, fetched = w.pull(t, test.layout)
			if diff := cmp.Diff(want, sinkFiles(t, again)); diff != "" || fetched != 0 || w.damaged.Load() != 1 {
				t.Errorf("afterwards: %d zips were fetched, damage was reported %d times %s", fetched, w.damaged.Load(), diff)
			}
		})
	}
}

// TestCachedPullWithoutSpace checks that a cache that can't store anything is reported
// once and causes no failure.
func TestCachedPullWithoutSpace(t *testing.T) {
	t.Parallel()
	for _, layout := range pull.Layouts() {
		w := newCachedWorld(t)
		w.pull(t, pull.LayoutZip) // creates the cache
		for _, kind := range []string{"blobs", "records", "unpacked"} {
			path := filepath.Join(w.dir, kind)
			if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if _, fetched := w.pull(t, layout); fetched == 0 || w.failed.Load() != 1 || w.damaged.Load() != 0 {
			t.Errorf("%s: %d zips were fetched, and %d failures and %d damaged packages were reported", layout, fetched, w.failed.Load(), w.damaged.Load())
		}
	}
}

// TestCachedPullOfWrongH1 checks that a wrong h1: hash in metadata is detected for
// packages from the cache and for unpacked zips.
func TestCachedPullOfWrongH1(t *testing.T) {
	t.Parallel()
	cache, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := sinkZip(t, "one", "terraform-provider-x")
	p := sinkPackage(t, data)
	for _, h1 := range []string{p.H1, "h1:" + strings.Repeat("A", 43) + "="} {
		sink, err := pull.NewSink(pull.LayoutUnpacked, t.TempDir(), cache)
		if err != nil {
			t.Fatal(err)
		}
		p.H1 = h1
		_, _, err = sink.Put(t.Context(), p, opening(strings.NewReader(string(data))))
		_, mismatch := errors.AsType[*sums.MismatchError](err)
		if wrong := strings.HasPrefix(h1, "h1:AAA"); mismatch != wrong || !wrong && err != nil {
			t.Errorf("%s: %v", h1, err)
		}
	}
}

// TestCachedZipOfWrongSize checks that the source reports an incorrect size.
func TestCachedZipOfWrongSize(t *testing.T) {
	t.Parallel()
	cache, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := sinkZip(t, "one", "terraform-provider-x")
	p := sinkPackage(t, data)
	body := cache.Keep(p.Digest, p.Size, io.NopCloser(strings.NewReader(string(data))))
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	_ = body.Close()
	sink, err := pull.NewSink(pull.LayoutZip, t.TempDir(), cache)
	if err != nil {
		t.Fatal(err)
	}
	p.Size++
	contacted := errors.New("the source was contacted")
	_, _, err = sink.Put(t.Context(), p, func(context.Context) (io.ReadCloser, error) { return nil, contacted })
	if !errors.Is(err, contacted) {
		t.Errorf("got %v for a zip with the digest %s", err, digest.FromBytes(data))
	}
}
