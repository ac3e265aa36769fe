package publish_test

import (
	"bytes"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// TestReleaseOfRepositories checks that a release can be published from one repository
// to another with all documents and referrers. It tests all combinations of repository
// kinds.
func TestReleaseOfRepositories(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	kinds := map[string]func(t *testing.T, w *world) *target{
		"layout":   func(t *testing.T, w *world) *target { return w.layout(t) },
		"registry": func(t *testing.T, w *world) *target { return w.registry(t, registrytest.Options{}) },
		"registry without referrers": func(t *testing.T, w *world) *target {
			return w.registry(t, registrytest.Options{NoReferrers: http.StatusNotFound})
		},
	}
	for a, first := range kinds {
		for b, second := range kinds {
			t.Run(a+" to "+b, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, origintest.Options{})
				from, to := first(t, w), second(t, w)
				want := w.fill(t, from)
				result := w.between(t, from, to, publish.Created)
				wantSent(t, result, all...)
				wantAttached(t, result, stem+".intoto.jsonl", stem+".spdx.json")
				w.wantWhole(t, to)
				if diff := cmp.Diff(want, w.documents(t, to)); diff != "" {
					t.Errorf("documents (-source +target):\n%s", diff)
				}
				if result.Digest != from.digest(t) {
					t.Errorf("the index is %s, and was %s", result.Digest, from.digest(t))
				}
				state := to.state(t)
				wantSent(t, w.between(t, from, to, publish.Unchanged))
				if to.state(t) != state {
					t.Error("the second run wrote something")
				}
			})
		}
	}
}

// fill publishes a release with every kind of document, and returns their contents.
func (w *world) fill(t *testing.T, to *target) map[string]string {
	t.Helper()
	files := map[string]string{
		"_SHA256SUMS": w.listing(all...), "_SHA256SUMS.sig": "a signature", ".spdx.json": spdx, ".intoto.jsonl": "{}\n",
	}
	dir := w.dist(t, files, all...)
	for _, p := range all {
		write(t, filepath.Join(dir, w.filename(p)+".spdx.json"), []byte(`{"spdxVersion":"SPDX-2.3","name":"`+p.OS+`"}`))
		write(t, filepath.Join(dir, w.filename(p)+".sig"), []byte("a signature of "+p.OS))
	}
	w.publishLocal(t, to, publish.Created, dir, publish.Options{})
	w.addKeys(t, to)
	found := w.documents(t, to)
	kinds := map[provider.DocumentKind]int{}
	for _, d := range w.releaseOf(t, to).Documents {
		kinds[d.Kind]++
	}
	if kinds[provider.KindSums] != 1 || kinds[provider.KindSignature] != 1 || kinds[provider.KindKeys] != 1 || len(found) != 3+2*len(all)+2 {
		t.Fatalf("the source has %v, and %v", kinds, slices.Sorted(maps.Keys(found)))
	}
	return found
}

// addKeys publishes the release again with the keys that an origin would offer, because
// local builds have no keys.
func (w *world) addKeys(t *testing.T, to *target) {
	t.Helper()
	repo, r := to.open(t), w.releaseOf(t, to)
	was, err := repository.Inspect(t.Context(), repo, "1.2.3", repository.DepthManifests)
	if err != nil {
		t.Fatal(err)
	}
	referring, err := repository.Documents(t.Context(), repo, was.Digest)
	if err != nil {
		t.Fatal(err)
	}
	r.Documents = append(r.Documents, artifact.NewDocument(stem+"_keys.asc", artifact.MediaTypeKeys, []byte("a key")))
	packed, err := artifact.Pack(r, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := repository.Push(t.Context(), repo, packed, was, repository.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Attach(t.Context(), repo, referring, artifact.Blob{Descriptor: now.Descriptor}); err != nil {
		t.Fatal(err)
	}
}

func (to *target) asSource(t *testing.T) *oci.Source {
	t.Helper()
	return oci.New(func(provider.Address) (repository.Reader, error) { return to.open(t), nil })
}

func (w *world) releaseOf(t *testing.T, to *target) provider.Release {
	t.Helper()
	r, err := to.asSource(t).Release(t.Context(), w.address, w.version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// between publishes the release from one repository to another.
func (w *world) between(t *testing.T, from, to *target, want publish.Status) publish.Result {
	t.Helper()
	result, err := w.publisher().Release(t.Context(), from.asSource(t), to.open(t), w.address, w.version, publish.Options{})
	if err != nil || result.Status != want {
		t.Fatalf("got status %s, want %s: %v", result.Status, want, err)
	}
	return result
}

// wantWhole inspects all content under the tag, and reads the zips.
func (w *world) wantWhole(t *testing.T, to *target) {
	t.Helper()
	i, err := repository.Inspect(t.Context(), to.open(t), "1.2.3", repository.DepthBlobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if f := i.Platforms[p]; !f.IsIntact() || f.Target.Platform != p {
			t.Errorf("%s: %v, missing %v", p, f.Err, f.Missing)
		}
	}
	w.wantStored(t, to, all...)
}

// documents returns the documents of a release by kind, scope, and name.
func (w *world) documents(t *testing.T, to *target) map[string]string {
	t.Helper()
	src := to.asSource(t)
	r, err := src.Release(t.Context(), w.address, w.version)
	if err != nil {
		t.Fatal(err)
	}
	referring, err := src.Capabilities().Documents(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	add := func(where string, documents []provider.Document) {
		for _, d := range documents {
			content, err := d.Read(t.Context())
			if err != nil || int64(len(content)) != d.Size || bytes.Equal(content, nil) {
				t.Errorf("%s: %d bytes, %v", d.Name, len(content), err)
			}
			contents[where+" "+string(d.Kind)+" "+string(d.Scope)+" "+d.Name] = string(content)
		}
	}
	add("release", r.Documents)
	add("referrer", referring)
	for _, p := range r.Packages {
		add(p.Platform.String(), p.Documents)
	}
	return contents
}
