package mirror_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// layouts returns a target function that maps each provider to a layout in dir.
func layouts(dir string) func(provider.Address) (repository.Repository, publish.Options, error) {
	return func(a provider.Address) (repository.Repository, publish.Options, error) {
		return repository.NewLayout(filepath.Join(dir, a.Type)), publish.Options{}, nil
	}
}

// copyAll copies from the world's registry.
func (w *world) copyAll(t *testing.T, o mirror.Options, wanted ...provider.Requirement) []mirror.Result {
	t.Helper()
	var results []mirror.Result
	o.OnResult = func(r mirror.Result) { results = append(results, r) }
	from := func(a provider.Address) (repository.Reader, error) {
		repo, _, err := w.target(a)
		return repo, err
	}
	if len(wanted) == 0 {
		wanted = []provider.Requirement{{Address: w.address}}
	}
	if err := mirror.Copy(t.Context(), from, wanted, o); err != nil {
		t.Fatal(err)
	}
	return results
}

// TestCopy checks that all versions have equal digests in both repositories, and that a
// second run changes nothing.
func TestCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 3, 1000)
	w.run(t, w.source(), mirror.Options{})
	target := layouts(t.TempDir())
	var mu sync.Mutex
	planned, started, ended := 0, 0, 0
	o := mirror.Options{
		Target:   target,
		OnPlan:   func(items []mirror.Item) { planned += len(items) },
		OnStart:  func(mirror.Item) { mu.Lock(); defer mu.Unlock(); started++ },
		OnFinish: func(mirror.Result) { mu.Lock(); defer mu.Unlock(); ended++ },
	}
	results := w.copyAll(t, o)
	wantVersions(t, results, 2, 3)
	from, _, err := w.target(w.address)
	if err != nil {
		t.Fatal(err)
	}
	to, _, err := target(w.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		a, _, err := from.Manifest(t.Context(), artifact.Tag(r.Item.Version))
		b, _, err2 := to.Manifest(t.Context(), artifact.Tag(r.Item.Version))
		if err != nil || err2 != nil || a.Digest != b.Digest || r.Published.Digest != a.Digest || r.Published.Status != publish.Created || r.Repository != to.String() {
			t.Errorf("%+v, %s, %s, %v, %v", r, a.Digest, b.Digest, err, err2)
		}
	}
	for _, r := range w.copyAll(t, o) {
		if r.Err != nil || r.Published.Status != publish.Unchanged {
			t.Errorf("%+v", r)
		}
	}
	if planned != 6 || started != 6 || ended != 6 {
		t.Errorf("got %d planned, %d started, %d finished items", planned, started, ended)
	}
}

// TestCopyChooses checks that Copy selects versions from the existing tags by the same
// rules as Run.
func TestCopyChooses(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, registrytest.Options{}, 4, 1000)
	w.run(t, w.source(), mirror.Options{})
	for text, want := range map[string][]string{
		"acme/rocket": {"1.3.0", "1.2.0"}, "acme/rocket@< 1.2.0": {"1.1.0", "1.0.0"}, "acme/rocket@1.1.0": {"1.1.0"},
	} {
		var got []string
		for _, r := range w.copyAll(t, mirror.Options{Target: layouts(t.TempDir()), Latest: 2}, w.requirement(t, text)) {
			if got = append(got, r.Item.Version.String()); r.Err != nil {
				t.Error(r.Err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	results := w.copyAll(t, mirror.Options{Target: layouts(t.TempDir())}, w.requirement(t, "acme/sled"), w.requirement(t, "acme/rocket@9.9.9"), w.requirement(t, "acme/rocket@1.0.0"))
	if len(results) != 3 || !errors.Is(results[0].Err, provider.ErrProviderNotFound) || !errors.Is(results[1].Err, provider.ErrVersionNotFound) || results[2].Err != nil {
		t.Errorf("got %+v", results)
	}
}

// TestCopyWrongBytes checks that copying a release with corrupted content fails and
// creates no tag, and that the other releases are copied.
func TestCopyWrongBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	results := w.run(t, w.source(), mirror.Options{})
	zip := results[1].Published.Packages[0].Package
	w.registry.AddBlob("acme/rocket", zip.Digest.String(), make([]byte, zip.Size))
	dir := t.TempDir()
	results = w.copyAll(t, mirror.Options{Target: layouts(dir)})
	if len(results) != 2 || results[0].Err != nil || results[1].Err == nil {
		t.Fatalf("got %+v", results)
	}
	tags, err := repository.NewLayout(filepath.Join(dir, "rocket")).Tags(t.Context())
	if err != nil || !slices.Equal(tags, []string{"1.1.0"}) {
		t.Errorf("got tags %v, %v", tags, err)
	}
}

// TestCopyRefused checks that all releases fail if the target rejects writes.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	dir := t.TempDir()
	w.run(t, w.source(), mirror.Options{Target: layouts(dir)})
	w.registry.Misbehave(registrytest.UploadPost, registrytest.Refuse(http.StatusForbidden, "DENIED", "no"), -1)
	var results []mirror.Result
	from := func(a provider.Address) (repository.Reader, error) {
		return repository.NewLayout(filepath.Join(dir, a.Type)), nil
	}
	err := mirror.Copy(t.Context(), from, []provider.Requirement{{Address: w.address}}, mirror.Options{
		Target: w.target, OnResult: func(r mirror.Result) { results = append(results, r) },
	})
	if err != nil || len(results) != 2 || !errors.Is(results[0].Err, provider.ErrForbidden) || !errors.Is(results[1].Err, provider.ErrForbidden) {
		t.Errorf("%v, %+v", err, results)
	}
	if tags := w.registry.Requests()[registrytest.ManifestPut]; tags != 0 {
		t.Errorf("%d manifests were written", tags)
	}
	if err := mirror.Copy(t.Context(), nil, nil, mirror.Options{}); err == nil {
		t.Error("got no error without a source and a target")
	}
}

// TestCopyInterrupted checks that an interrupted Copy leaves no tags of incomplete
// releases. The next run completes these releases.
func TestCopyInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registrytest.Options{}, 2, 1000)
	w.run(t, w.source(), mirror.Options{})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	dir := t.TempDir()
	from := func(a provider.Address) (repository.Reader, error) {
		repo, _, err := w.target(a)
		return repo, err
	}
	w.registry.Misbehave(registrytest.BlobGet, origintest.Fault(func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		interrupt()
		honest(rw, r)
	}), 1)
	err := mirror.Copy(ctx, from, []provider.Requirement{{Address: w.address}}, mirror.Options{Target: layouts(dir)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	to := repository.NewLayout(filepath.Join(dir, "rocket"))
	if tags, err := to.Tags(t.Context()); err == nil && len(tags) > 0 {
		t.Errorf("got tags %v", tags)
	}
	for _, r := range w.copyAll(t, mirror.Options{Target: layouts(dir)}) {
		if r.Err != nil || r.Published.Status != publish.Created {
			t.Errorf("%+v", r)
		}
		i, err := repository.Inspect(t.Context(), to, artifact.Tag(r.Item.Version), repository.DepthContent)
		if err != nil || len(i.Platforms) != 2 {
			t.Errorf("%+v, %v", i, err)
		}
		for platform, f := range i.Platforms {
			if !f.IsIntact() {
				t.Errorf("%s %s is incomplete", r.Item.Version, platform)
			}
		}
	}
}
