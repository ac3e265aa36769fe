package source_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// cached returns the world's source with a store.
func (w *world) cached(t *testing.T, dir string, o source.CacheOptions) *source.Cached {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return source.NewCached(origin.New(w.options), s, o)
}

func TestCachedConforms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		sourcetest.Run(t, sourcetest.Fixture{
			New: func(t *testing.T) provider.Source { return w.cached(t, dir, source.CacheOptions{}) }, Address: w.address,
			Versions: []provider.Version{nouns.Version(t, "1.2.3"), nouns.Version(t, "1.0.0")}, Zips: w.zips,
		})
	}
}

func TestCachedForwardsCapabilities(t *testing.T) {
	t.Parallel()
	sourcetest.RunDecorator(t, origin.New(newWorld(t).options), func(inner provider.Source) provider.Source {
		return source.NewCached(inner, nil, source.CacheOptions{})
	})
}

// read opens a package and reads it.
func read(t *testing.T, src provider.Source, p provider.Package) []byte {
	t.Helper()
	body, _, err := src.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCachedRequestsOnce checks that cached content is not requested again. If the
// store is read-only, nothing is cached.
func TestCachedRequestsOnce(t *testing.T) {
	t.Parallel()
	for readOnly, wanted := range map[bool]int{false: 1, true: 3} {
		w := newWorld(t)
		dir := t.TempDir()
		for range 3 {
			src := w.cached(t, dir, source.CacheOptions{ReadOnly: readOnly})
			r, err := src.Release(t.Context(), w.address, nouns.Version(t, "1.2.3"), nouns.Plan9)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, src, r.Packages[0]); string(got) != string(w.zips[nouns.Plan9]) {
				t.Error("wrong bytes")
			}
		}
		if n := w.Requests()[origintest.Zip]; n != wanted {
			t.Errorf("take only %v: %d zips were fetched, want %d", readOnly, n, wanted)
		}
	}
}

// TestReadOnlyCache checks that a read-only source uses content that another source has
// cached.
func TestReadOnlyCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	src := w.cached(t, dir, source.CacheOptions{})
	r, err := src.Release(t.Context(), w.address, nouns.Version(t, "1.2.3"), nouns.Plan9)
	if err != nil {
		t.Fatal(err)
	}
	read(t, src, r.Packages[0])
	r.Packages[0].Size = -1 // origin registries don't list the size
	body, size, err := w.cached(t, dir, source.CacheOptions{ReadOnly: true}).Open(t.Context(), r.Packages[0])
	if err != nil || size != int64(len(w.zips[nouns.Plan9])) {
		t.Fatalf("size %d, %v", size, err)
	}
	_ = body.Close()
	if n := w.Requests()[origintest.Zip]; n != 1 {
		t.Errorf("%d zips were fetched", n)
	}
}

// TestCachedSkipsLocalFiles checks that a zip in a local file is not cached.
func TestCachedSkipsLocalFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "cache")
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := source.NewCached(atHand{origin.New(w.options)}, s, source.CacheOptions{})
	r, err := src.Release(t.Context(), w.address, nouns.Version(t, "1.2.3"), nouns.Plan9)
	if err != nil {
		t.Fatal(err)
	}
	read(t, src, r.Packages[0])
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was kept: %v", err)
	}
}

// atHand is a source whose zips are local files.
type atHand struct{ provider.Source }

func (atHand) Capabilities() provider.Capabilities {
	return provider.Capabilities{Path: func(provider.Package) (string, bool) { return "x.zip", true }}
}
