package repository_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// inspect inspects the release with a new Repository value.
func (e *end) inspect(t *testing.T, depth repository.Depth, platforms ...provider.Platform) repository.Inspection {
	t.Helper()
	i, err := repository.Inspect(t.Context(), e.open(t), tag, depth, platforms...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// eachEnd runs a test for every kind of repository.
func eachEnd(t *testing.T, test func(t *testing.T, e *end)) {
	t.Helper()
	for name, o := range endKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newEnd(t, o))
		})
	}
}

// TestInspect checks that Inspect respects the depth and the platforms.
func TestInspect(t *testing.T) {
	t.Parallel()
	packed := pack(t, twoZips)
	eachEnd(t, func(t *testing.T, e *end) {
		index := e.push(t, twoZips)
		for name, test := range map[string]struct {
			depth     repository.Depth
			platforms []provider.Platform
			want      []provider.Platform
		}{
			"index":                  {repository.DepthIndex, nil, nil},
			"manifests":              {repository.DepthManifests, nil, []provider.Platform{haiku, plan9}},
			"blobs":                  {repository.DepthBlobs, nil, []provider.Platform{haiku, plan9}},
			"manifests of one":       {repository.DepthManifests, []provider.Platform{plan9}, []provider.Platform{plan9}},
			"blobs of one":           {repository.DepthBlobs, []provider.Platform{plan9, plan9}, []provider.Platform{plan9}},
			"one that is not listed": {repository.DepthBlobs, []provider.Platform{{OS: "minix", Arch: "vax"}}, nil},
		} {
			i := e.inspect(t, test.depth, test.platforms...)
			if i.Digest != index.Digest || i.Descriptor.Digest != index.Digest || i.Descriptor.Size != int64(len(i.Bytes)) || i.Dangling || i.Absent != nil || i.Format != nil || !i.Exists() || i.Tag != tag {
				t.Errorf("%s: %+v", name, i)
			}
			if !bytes.Equal(i.Bytes, packed.Index.Bytes) || !i.HasPlatform(plan9) || i.HasPlatform(provider.Platform{OS: "minix", Arch: "vax"}) {
				t.Errorf("%s: the index is %s", name, i.Bytes)
			}
			var looked []provider.Platform
			for platform, f := range i.Platforms {
				looked = append(looked, platform)
				n := slices.Index([]provider.Platform{haiku, plan9}, platform)
				if !f.IsIntact() || f.Err != nil || f.Missing != nil || !bytes.Equal(f.Bytes, packed.Manifests[n].Bytes) || f.Manifest.Zip.Digest != digest.FromString(twoZips[platform]) {
					t.Errorf("%s: %s is %+v", name, platform, f)
				}
			}
			if diff := cmp.Diff(test.want, provider.SortPlatforms(looked)); diff != "" && len(looked)+len(test.want) > 0 {
				t.Errorf("%s: platforms: %s", name, diff)
			}
		}
		a, v := thing(t)
		got, want := e.inspect(t, repository.DepthManifests).Platforms[haiku].Package(a, v), packageOf(t, haiku, twoZips[haiku])
		if got.Filename != want.Filename || got.Digest != want.Digest || got.Size != want.Size || got.Platform != haiku || got.Version != v {
			t.Errorf("the package is %+v", got)
		}
	})
}

// TestInspectAbsent checks that Inspect distinguishes a missing tag from a missing
// repository.
func TestInspectAbsent(t *testing.T) {
	t.Parallel()
	eachEnd(t, func(t *testing.T, e *end) {
		i := e.inspect(t, repository.DepthBlobs)
		// The test registry does not distinguish a missing tag from a missing
		// repository.
		if i.Exists() || errors.Is(i.Absent, repository.ErrNotFound) == (e.registry == nil) || errors.Is(i.Absent, repository.ErrNoRepository) != (e.registry == nil) || i.Digest != "" {
			t.Errorf("no repository: %+v", i)
		}
		pushTag(t, e.open(t), index(t, "other"), "1.0.0", "")
		i = e.inspect(t, repository.DepthBlobs)
		if i.Exists() || !errors.Is(i.Absent, repository.ErrNotFound) || errors.Is(i.Absent, repository.ErrNoRepository) {
			t.Errorf("no tag: %+v", i)
		}
	})
}

// TestInspectLostIndex checks that Inspect returns the digest of a layout's tag even if
// the index is missing or damaged.
func TestInspectLostIndex(t *testing.T) {
	t.Parallel()
	packed := pack(t, twoZips)
	for name, harm := range map[string]func(e *end){
		"missing": func(e *end) { e.lose(t, packed.Index.Descriptor.Digest) },
		"damaged": func(e *end) { e.damage(t, packed.Index, "") },
		"longer":  func(e *end) { e.damage(t, packed.Index, "more") },
	} {
		e := newEnd(t, nil)
		e.push(t, twoZips)
		harm(e)
		i := e.inspect(t, repository.DepthBlobs)
		if !i.Dangling || !i.Exists() || i.Digest != packed.Index.Descriptor.Digest || i.Descriptor.Digest != "" || i.Absent != nil || len(i.Platforms) != 0 {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// TestInspectFindings checks that the result lists problems by platform.
func TestInspectFindings(t *testing.T) {
	t.Parallel()
	packed, shared := pack(t, twoZips), digest.FromString("sums")
	zip := blob(twoZips[haiku])
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	for name, test := range map[string]struct {
		layouts bool
		harm    func(e *end)
		err     func(error) bool
		haiku   []digest.Digest
		plan9   []digest.Digest
	}{
		"manifest is missing": {false, func(e *end) { e.lose(t, packed.Manifests[0].Descriptor.Digest) }, is(repository.ErrNotFound), nil, nil},
		"manifest is damaged": {true, func(e *end) { e.damage(t, packed.Manifests[0], "") }, func(err error) bool {
			_, ok := errors.AsType[*sums.MismatchError](err)
			return ok
		}, nil, nil},
		"zip is missing":      {false, func(e *end) { e.lose(t, zip.Descriptor.Digest) }, nil, []digest.Digest{zip.Descriptor.Digest}, nil},
		"zip has other size":  {false, func(e *end) { e.damage(t, zip, "more") }, nil, []digest.Digest{zip.Descriptor.Digest}, nil},
		"shared blob is gone": {false, func(e *end) { e.lose(t, shared) }, nil, []digest.Digest{shared}, []digest.Digest{shared}},
		"two blobs are gone": {false, func(e *end) { e.lose(t, shared); e.lose(t, zip.Descriptor.Digest) }, nil,
			[]digest.Digest{zip.Descriptor.Digest, shared}, []digest.Digest{shared}},
	} {
		for kind, o := range endKinds {
			if test.layouts && o != nil {
				continue
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				e := newEnd(t, o)
				e.push(t, twoZips)
				test.harm(e)
				deep, shallow := e.inspect(t, repository.DepthBlobs), e.inspect(t, repository.DepthManifests)
				for depth, i := range map[string]repository.Inspection{"blobs": deep, "manifests": shallow} {
					f := i.Platforms[haiku]
					if test.err == nil && f.Err != nil || test.err != nil && (!test.err(f.Err) || f.IsIntact()) {
						t.Errorf("%s: %v", depth, f.Err)
					}
					if i.Platforms[plan9].Err != nil {
						t.Errorf("%s: plan9: %v", depth, i.Platforms[plan9].Err)
					}
				}
				if diff := cmp.Diff([][]digest.Digest{test.haiku, test.plan9}, [][]digest.Digest{deep.Platforms[haiku].Missing, deep.Platforms[plan9].Missing}); diff != "" {
					t.Errorf("missing (-want +got):\n%s", diff)
				}
				if len(shallow.Platforms[haiku].Missing) > 0 || test.haiku != nil && deep.Platforms[haiku].IsIntact() {
					t.Errorf("%+v, %+v", shallow.Platforms[haiku], deep.Platforms[haiku])
				}
			})
		}
	}
}

// TestInspectSharedManifest checks indexes in which two platforms have the same manifest. In
// one index, the size of the second entry is wrong.
func TestInspectSharedManifest(t *testing.T) {
	t.Parallel()
	zip := blob(twoZips[haiku]).Descriptor.Digest
	for _, surplus := range []int64{0, 1} {
		eachEnd(t, func(t *testing.T, e *end) {
			d := e.push(t, twoZips)
			var index ocispec.Index
			decode(t, pack(t, twoZips).Index.Bytes, &index)
			index.Manifests[1].Digest, index.Manifests[1].Size = index.Manifests[0].Digest, index.Manifests[0].Size+surplus
			pushTag(t, e.open(t), blobOf(t, index, ocispec.MediaTypeImageIndex), tag, d.Digest)
			e.lose(t, zip)
			i := e.inspect(t, repository.DepthBlobs)
			first, second := i.Platforms[haiku], i.Platforms[plan9]
			if first.Err != nil || !slices.Equal(first.Missing, []digest.Digest{zip}) || first.Target.Platform != haiku || second.Target.Platform != plan9 {
				t.Errorf("%+v, %+v", first, second)
			}
			_, wrongSize := errors.AsType[*sums.SizeError](second.Err)
			if wrongSize != (surplus > 0) || !wrongSize && !slices.Equal(second.Missing, first.Missing) {
				t.Errorf("%+v", second)
			}
		})
	}
}

// TestInspectContent checks that DepthContent finds corrupted content of the correct
// length.
func TestInspectContent(t *testing.T) {
	t.Parallel()
	zip := blob(twoZips[haiku])
	eachEnd(t, func(t *testing.T, e *end) {
		e.push(t, twoZips)
		if i := e.inspect(t, repository.DepthContent); !i.Platforms[haiku].IsIntact() || !i.Platforms[plan9].IsIntact() {
			t.Errorf("nothing is damaged yet: %+v", i.Platforms)
		}
		e.damage(t, zip, "")
		if f := e.inspect(t, repository.DepthBlobs).Platforms[haiku]; e.registry != nil && !f.IsIntact() {
			t.Errorf("who asks only whether a blob is there found %+v", f.Missing)
		}
		i := e.inspect(t, repository.DepthContent)
		if diff := cmp.Diff([]digest.Digest{zip.Descriptor.Digest}, i.Platforms[haiku].Missing); diff != "" || !i.Platforms[plan9].IsIntact() {
			t.Errorf("missing (-want +got):\n%s\nplan9: %+v", diff, i.Platforms[plan9])
		}
	})
}

// TestInspectOtherFormats checks tags that do not point to provider releases, and index
// entries that do not describe package manifests.
func TestInspectOtherFormats(t *testing.T) {
	t.Parallel()
	eachEnd(t, func(t *testing.T, e *end) {
		d := e.edited(t, tag, func(index string) string { return strings.Replace(index, artifact.TypeProvider, "application/x", 1) })
		i := e.inspect(t, repository.DepthBlobs)
		wantFormat(t, i.Format, `an index of artifact type "application/x"`)
		if i.Digest != d || i.Descriptor.Digest != d || !i.Exists() || i.Dangling || len(i.Platforms) != 0 {
			t.Errorf("%+v", i)
		}
		a, _ := thing(t)
		if _, ok := errors.AsType[*repository.ProviderMismatchError](i.CheckProvider(a)); !ok {
			t.Errorf("%v", i.CheckProvider(a))
		}
		// This index is valid, but one of its manifests is not a package.
		config := artifact.Blob{Descriptor: ocispec.DescriptorEmptyJSON, Bytes: []byte("{}")}
		manifest := blobOf(t, ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config.Descriptor, Layers: []ocispec.Descriptor{}}, ocispec.MediaTypeImageManifest)
		if err := e.open(t).PushManifest(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
		var index ocispec.Index
		decode(t, pack(t, twoZips).Index.Bytes, &index)
		index.Manifests[0].Digest, index.Manifests[0].Size = manifest.Descriptor.Digest, manifest.Descriptor.Size
		pushTag(t, e.open(t), blobOf(t, index, ocispec.MediaTypeImageIndex), tag, d)
		i = e.inspect(t, repository.DepthBlobs)
		wantFormat(t, i.Platforms[haiku].Err, "expected a manifest")
		if i.Format != nil || i.Platforms[haiku].IsIntact() || !i.Platforms[plan9].IsIntact() || i.CheckProvider(a) != nil {
			t.Errorf("%+v", i)
		}
	})
}

// TestInspectRequests checks that Inspect and InspectMore request each manifest and
// blob once.
func TestInspectRequests(t *testing.T) {
	t.Parallel()
	e := newEnd(t, &registrytest.Options{})
	e.push(t, twoZips)
	requestsOf := func(do func()) map[registrytest.Kind]int {
		before, got := e.registry.Requests(), map[registrytest.Kind]int{}
		do()
		for kind, n := range e.registry.Requests() {
			if n -= before[kind]; n != 0 {
				got[kind] = n
			}
		}
		return got
	}
	type requests = map[registrytest.Kind]int
	repo := e.open(t)
	var i repository.Inspection
	deeper := func(depth repository.Depth, platforms ...provider.Platform) func() {
		return func() {
			was := len(i.Platforms)
			next, err := i.InspectMore(t.Context(), repo, depth, platforms...)
			if err != nil || len(i.Platforms) != was {
				t.Errorf("the inspection itself was changed, %v", err)
			}
			i = next
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want requests
	}{
		{"index", func() { i = e.inspect(t, repository.DepthIndex) }, requests{registrytest.ManifestGet: 1}},
		{"the same", deeper(repository.DepthIndex), requests{}},
		{"one manifest", deeper(repository.DepthManifests, plan9), requests{registrytest.ManifestGet: 1}},
		{"the others", deeper(repository.DepthManifests), requests{registrytest.ManifestGet: 1}},
		{"one with its blobs", deeper(repository.DepthBlobs, haiku), requests{registrytest.BlobHead: 6}},
		{"all", deeper(repository.DepthBlobs), requests{registrytest.BlobHead: 6}},
		{"nothing new", deeper(repository.DepthBlobs, plan9, haiku), requests{}},
		{"less deep", deeper(repository.DepthManifests), requests{}},
		// Shared blobs are requested once. Of the seven blobs, two are zips.
		{"all at once", func() { i = e.inspect(t, repository.DepthBlobs) }, requests{registrytest.ManifestGet: 3, registrytest.BlobHead: 7}},
	} {
		if diff := cmp.Diff(step.want, requestsOf(step.do)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestInspectFails checks that Inspect returns an error, not a finding, if the
// repository can't be read.
func TestInspectFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []registrytest.Kind{registrytest.ManifestGet, registrytest.BlobHead} {
		e := newEnd(t, &registrytest.Options{})
		e.push(t, twoZips)
		e.registry.Misbehave(kind, registrytest.Refuse(http.StatusForbidden, "DENIED", "no"), -1)
		if _, err := repository.Inspect(t.Context(), e.open(t), tag, repository.DepthBlobs); !errors.Is(err, provider.ErrForbidden) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	e := newEnd(t, nil)
	e.push(t, twoZips)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := repository.Inspect(ctx, e.open(t), tag, repository.DepthBlobs); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
