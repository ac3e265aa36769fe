package publish_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// copy copies the release with new values, like a separate process.
func (w *world) copy(t *testing.T, from, to *target, o publish.Options) (publish.Result, error) {
	t.Helper()
	return w.publisher().Copy(t.Context(), from.open(t), to.open(t), w.address, w.version, o)
}

// wantCopy copies the release, and checks the status and that the digests are equal.
func (w *world) wantCopy(t *testing.T, from, to *target, want publish.Status, o publish.Options) publish.Result {
	t.Helper()
	r, err := w.copy(t, from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != want || r.Address != w.address || r.Version != w.version || r.Tag != "1.2.3" {
		t.Fatalf("got %+v, want %s", r, want)
	}
	if r.Digest != to.digest(t) || r.Digest != from.digest(t) && r.Source != from.digest(t) {
		t.Fatalf("the tags point to %s and %s, but the result contains %s", from.digest(t), to.digest(t), r.Digest)
	}
	return r
}

// TestCopyStatuses checks all statuses of a copy.
func TestCopyStatuses(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{Platforms: without(zos)})
		state := to.state(t)
		if r, err := w.copy(t, from, to, publish.Options{DryRun: true}); err != nil || r.Status != publish.Created || r.Digest != from.digest(t) || len(sent(r)) != 0 || to.state(t) != state {
			t.Errorf("%+v, %v", r, err)
		}
		wantSent(t, w.wantCopy(t, from, to, publish.Created, publish.Options{}), haiku, minix, plan9)
		state = to.state(t)
		if r := w.wantCopy(t, from, to, publish.Unchanged, publish.Options{}); len(r.Packages) != 3 || to.state(t) != state {
			t.Errorf("%+v", r)
		}
		to.lose(t, w.zipDigest(minix))
		wantSent(t, w.wantCopy(t, from, to, publish.Repaired, publish.Options{}), minix)
		w.publish(t, from, publish.Extended, publish.Options{})
		wantSent(t, w.wantCopy(t, from, to, publish.Extended, publish.Options{}), zos)
		sbom := artifact.NewDocument("all.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))
		sbom.Scope = provider.ScopeRelease
		index, _, err := from.open(t).Manifest(t.Context(), "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repository.Attach(t.Context(), from.open(t), []provider.Document{sbom}, artifact.Blob{Descriptor: index}); err != nil {
			t.Fatal(err)
		}
		if r := w.wantCopy(t, from, to, publish.Extended, publish.Options{}); !slices.Equal(r.Attached, []string{sbom.Name}) || len(sent(r)) != 0 {
			t.Errorf("%+v", r)
		}
		// Additional content of the target is kept.
		part := w.layout(t)
		w.publish(t, part, publish.Created, publish.Options{Platforms: []provider.Platform{zos}})
		if r := w.wantCopy(t, part, to, publish.Unchanged, publish.Options{}); r.Source != part.digest(t) {
			t.Errorf("%+v", r)
		}
		// Different content is a conflict.
		w.zips[zos] = zipOf(t, "made again")
		w.offer(t, w.release(all...))
		other := w.layout(t)
		w.publish(t, other, publish.Created, publish.Options{})
		_, err = w.copy(t, other, to, publish.Options{})
		if conflict, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.HasPrefix(conflict.Reasons[0], "zos_s390x has zip ") || to.digest(t) != from.digest(t) {
			t.Errorf("got %v", err)
		}
		wantSent(t, w.wantCopy(t, other, to, publish.Replaced, publish.Options{Force: true}), zos)
	})
}

// TestCopyMounts checks that mounted zips are reported.
func TestCopyMounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from := w.registry(t, registrytest.Options{})
	w.publish(t, from, publish.Created, publish.Options{})
	to, err := repository.Open(template.Reference{Registry: from.host, Name: "acme/inside"}, from.options)
	if err != nil {
		t.Fatal(err)
	}
	r, err := new(publish.Publisher).Copy(t.Context(), from.open(t), to, w.address, w.version, publish.Options{})
	if err != nil || r.Status != publish.Created || len(r.Packages) != len(all) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, p := range r.Packages {
		if p.Sent || !p.Mounted {
			t.Errorf("%+v", p)
		}
	}
}

// TestCopyChecks checks the requests that each check level sends to the target.
func TestCopyChecks(t *testing.T) {
	t.Parallel()
	for check, want := range map[repository.Depth]map[registrytest.Kind]int{
		repository.DepthTags:      {registrytest.Tags: 1},
		repository.DepthIndex:     {registrytest.Tags: 1, registrytest.ManifestGet: 1},
		repository.DepthManifests: {registrytest.Tags: 1, registrytest.ManifestGet: 5},
		// The config, SHA256SUMS, signature, keys, and four zips.
		repository.DepthBlobs:   {registrytest.Tags: 1, registrytest.ManifestGet: 5, registrytest.BlobHead: 8},
		repository.DepthContent: {registrytest.Tags: 1, registrytest.ManifestGet: 5, registrytest.BlobHead: 8, registrytest.BlobGet: 8},
	} {
		t.Run(check.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			from, to := w.layout(t), w.registry(t, registrytest.Options{})
			w.publish(t, from, publish.Created, publish.Options{})
			if r, err := w.copy(t, from, to, publish.Options{Check: check}); err != nil || r.Status != publish.Created {
				t.Fatalf("%+v, %v", r, err)
			}
			before := to.registry.Requests()
			r, err := w.copy(t, from, to, publish.Options{Check: check})
			if err != nil || r.Status != publish.Unchanged || (r.Digest == from.digest(t)) == (check == repository.DepthTags) {
				t.Errorf("%+v, %v", r, err)
			}
			got := to.registry.Requests()
			for kind, n := range before {
				if got[kind] -= n; got[kind] == 0 {
					delete(got, kind)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCopyMovedTag checks that Copy starts again if the tag moves, and that it fails
// if the tag moves constantly.
func TestCopyMovedTag(t *testing.T) {
	t.Parallel()
	for name, times := range map[string]int{"once": 1, "all the time": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			from, to := w.registry(t, registrytest.Options{}), w.layout(t)
			w.publish(t, from, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
			var mu sync.Mutex
			tags := 0
			moving := moved{from.open(t), func() {
				mu.Lock()
				defer mu.Unlock()
				if tags++; tags%2 == 0 && (times < 0 || tags/2 <= times) { // each copy reads the tag twice
					o := publish.Options{Force: true, Index: artifact.Options{Annotations: map[string]string{"turn": strings.Repeat("x", tags)}}}
					if times > 0 {
						o = publish.Options{}
					} else {
						w.zips[haiku] = zipOf(t, strings.Repeat("x", tags))
						w.offer(t, w.release(haiku))
						o.Platforms = []provider.Platform{haiku}
					}
					if _, err := w.run(t, from, o); err != nil {
						t.Error(err)
					}
				}
			}}
			r, err := new(publish.Publisher).Copy(t.Context(), moving, to.open(t), w.address, w.version, publish.Options{})
			if times < 0 {
				if !errors.Is(err, repository.ErrTagMoved) || to.digest(t) != "" {
					t.Errorf("got %+v, %v", r, err)
				}
				return
			}
			if err != nil || r.Moved != 1 || r.Status != publish.Created || r.Digest != from.digest(t) || len(r.Packages) != len(all) {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// moved is a repository that calls a function before each read of the version's tag.
type moved struct {
	repository.Repository
	before func()
}

func (m moved) Manifest(ctx context.Context, reference string) (d ocispec.Descriptor, data []byte, err error) {
	if reference == "1.2.3" {
		m.before()
	}
	return m.Repository.Manifest(ctx, reference)
}

// TestCopyOfMissingRelease checks the errors for a missing release.
func TestCopyOfMissingRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.registry(t, registrytest.Options{}), w.layout(t)
	if _, err := w.copy(t, from, to, publish.Options{}); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("got %v", err)
	}
	w.publish(t, from, publish.Created, publish.Options{})
	w.version = nouns.Version(t, "1.2.4")
	_, err := w.copy(t, from, to, publish.Options{})
	if !errors.Is(err, provider.ErrVersionNotFound) || !strings.Contains(err.Error(), "1.2.3") {
		t.Errorf("got %v", err)
	}
}

// TestCopyCreatesRepository checks that a missing repository is created.
func TestCopyCreatesRepository(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{NoCreate: true})
	w.publish(t, from, publish.Created, publish.Options{})
	if _, err := w.copy(t, from, to, publish.Options{}); !errors.Is(err, repository.ErrNoRepository) {
		t.Fatalf("got %v", err)
	}
	to.create = func(context.Context) error {
		to.registry.Create(repositoryName)
		return nil
	}
	w.wantCopy(t, from, to, publish.Created, publish.Options{})
}

// TestCopyPreservesBytes checks that Copy rejects options that would change the
// content.
func TestCopyPreservesBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.layout(t)
	w.publish(t, from, publish.Created, publish.Options{})
	for _, o := range []publish.Options{{Platforms: all}, {Index: artifact.Options{SourceURL: "https://example.com"}}, {Index: artifact.Options{Annotations: map[string]string{"a": "b"}}}} {
		if _, err := w.copy(t, from, to, o); provider.KindOf(err) != provider.Misuse || to.digest(t) != "" {
			t.Errorf("got %v", err)
		}
	}
}

// TestCopyVerifies checks that Verify is called for releases of the source, except
// releases that the target already has.
func TestCopyVerifies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from, to := w.layout(t), w.registry(t, registrytest.Options{NoReferrers: http.StatusNotFound})
	w.publish(t, from, publish.Created, publish.Options{})
	refused := errors.New("refused on purpose")
	calls, answer := 0, refused
	o := publish.Options{Verify: func(_ context.Context, r provider.Release) (provider.Verdict, error) {
		calls++
		if _, has := r.Document(provider.KindSignature); !has || len(r.Packages) != len(all) {
			t.Errorf("unexpected release %+v", r)
		}
		return provider.Verdict{Trust: provider.TrustUnknown}, answer
	}}
	r, err := w.copy(t, from, to, o)
	if !errors.Is(err, refused) || to.registry.Writes() != 0 || r.Verdict.Trust != provider.TrustUnknown {
		t.Errorf("%+v, %v", r, err)
	}
	answer = nil
	w.wantCopy(t, from, to, publish.Created, o)
	w.wantCopy(t, from, to, publish.Unchanged, o)
	if calls != 2 {
		t.Errorf("got %d calls of Verify, want 2", calls)
	}
}

// TestCopyStages checks that a staged copy doesn't change the version's tag, and that
// approval makes the version live.
func TestCopyStages(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{Platforms: without(zos)})
		stage := func(want publish.Status, tag string, o publish.Options) {
			t.Helper()
			o.Stage = true
			r, err := w.copy(t, from, to, o)
			if err != nil || r.Status != want || r.Tag != tag || r.Released != (tag == "1.2.3") || !o.DryRun && to.at(t, tag) != r.Digest {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		stage(publish.Created, pendingTag, publish.Options{DryRun: true})
		if to.at(t, pendingTag) != "" {
			t.Error("the dry run wrote a tag")
		}
		stage(publish.Created, pendingTag, publish.Options{})
		stage(publish.Unchanged, pendingTag, publish.Options{})
		stage(publish.Unchanged, pendingTag, publish.Options{DryRun: true})
		if to.digest(t) != "" {
			t.Error("the version is released")
		}
		w.promote(t, to, publish.Promoted)
		stage(publish.Unchanged, "1.2.3", publish.Options{})
		w.publish(t, from, publish.Extended, publish.Options{})
		before := to.digest(t)
		stage(publish.Extended, pendingTag, publish.Options{})
		if to.digest(t) != before {
			t.Error("the tag of the version moved")
		}
	})
}
