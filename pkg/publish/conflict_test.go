package publish_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// plant pushes a document under the tag of the version.
func (to *target) plant(t *testing.T, mediaType string, document any) {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	b := artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
	if err := to.open(t).PushTag(t.Context(), b, "1.2.3", to.digest(t)); err != nil {
		t.Fatal(err)
	}
}

// editIndex edits the index under the tag of the version.
func editIndex(edit func(x *ocispec.Index)) func(t *testing.T, w *world, to *target) {
	return func(t *testing.T, _ *world, to *target) {
		t.Helper()
		_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
		var index ocispec.Index
		if err := errors.Join(err, json.Unmarshal(data, &index)); err != nil {
			t.Fatal(err)
		}
		edit(&index)
		to.plant(t, ocispec.MediaTypeImageIndex, index)
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// before is called after the packages for minix and plan9 were published.
		before func(t *testing.T, w *world, to *target)
		// reasons lists strings that the error must contain.
		reasons []string
		// forced contains the platforms of the release after publishing with Force.
		forced []provider.Platform
	}{
		"other bytes": {
			func(t *testing.T, w *world, _ *target) {
				w.zips[minix], w.zips[plan9] = zipOf(t, "republished"), zipOf(t, "this one too")
				w.offer(t, w.release(all...))
			},
			[]string{"minix_vax has zip sha256:", "plan9_mips64 has zip sha256:", ", but the source has sha256:"},
			all,
		},
		"another address": {
			editIndex(func(x *ocispec.Index) { x.Annotations[artifact.AnnotationProvider] = "registry.example.org/else/thing" }),
			[]string{"tag 1.2.3 points to provider registry.example.org/else/thing"},
			all,
		},
		"container image": {
			func(t *testing.T, _ *world, to *target) {
				config := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.FromString("c"), Size: 1}
				if err := to.open(t).PushBlob(t.Context(), config, strings.NewReader("c")); err != nil {
					t.Fatal(err)
				}
				to.plant(t, ocispec.MediaTypeImageManifest, ocispec.Manifest{
					Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
					Config: config,
					Layers: []ocispec.Descriptor{},
				})
			},
			[]string{"tag 1.2.3 does not point to a provider", "a container image"},
			all,
		},
		"two entries for a platform": {
			editIndex(func(x *ocispec.Index) { x.Manifests = append(x.Manifests, x.Manifests[1]) }),
			[]string{"plan9_mips64: not a provider artifact that OpenTofu can read: more than one manifest for plan9_mips64"},
			all,
		},
		"only packages for OS versions": {
			editIndex(func(x *ocispec.Index) {
				for i := range x.Manifests {
					x.Manifests[i].Platform.OSVersion = "10"
				}
			}),
			[]string{"tag 1.2.3 does not point to a provider", "index contains only packages for specific OS versions"},
			all,
		},
		"module package": {
			func(t *testing.T, _ *world, to *target) {
				to.plant(t, ocispec.MediaTypeImageManifest, ocispec.Manifest{
					Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
					ArtifactType: "application/vnd.opentofu.modulepkg", Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{},
				})
			},
			[]string{"tag 1.2.3 does not point to a provider", "a module package"},
			all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{minix, plan9}})
				test.before(t, w, to)
				state, tag, zips := to.state(t), to.digest(t), w.origin.Requests()[origintest.Zip]
				for _, o := range []publish.Options{{AgainstOrigin: true}, {AgainstOrigin: true, DryRun: true}} {
					_, err := w.run(t, to, o)
					conflict, ok := errors.AsType[*repository.ConflictError](err)
					if !ok || conflict.Release != w.address.String()+" "+w.version.String() {
						t.Fatal(err)
					}
					for _, reason := range test.reasons {
						if !strings.Contains(err.Error(), reason) {
							t.Errorf("%q is missing in: %v", reason, err)
						}
					}
				}
				if to.state(t) != state || to.digest(t) != tag || w.origin.Requests()[origintest.Zip] != zips {
					t.Error("the tag moved despite the conflict")
				}
				w.publish(t, to, publish.Replaced, publish.Options{Force: true})
				w.wantStored(t, to, test.forced...)
				w.publish(t, to, publish.Unchanged, publish.Options{AgainstOrigin: true})
			})
		})
	}
}

// TestForceWithoutConflict checks that Force has no effect without a conflict.
func TestForceWithoutConflict(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origintest.Options{"stated hashes": {}, "no packages block": {NoPackages: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, o, func(t *testing.T, w *world, to *target) {
				w.publish(t, to, publish.Created, publish.Options{})
				state := to.state(t)
				w.publish(t, to, publish.Unchanged, publish.Options{Force: true})
				if to.state(t) != state {
					t.Error("unexpected writes")
				}
			})
		})
	}
}

// TestSumsLackStoredPackages checks that the new SHA256SUMS must list stored packages
// with their digests.
func TestSumsLackStoredPackages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		listed digest.Digest
		reason string
	}{
		"missing":        {"", "does not match the stored package for plan9_mips64: SHA256SUMS does not list"},
		"another digest": {digest.FromString("x"), "does not match the stored package for plan9_mips64: checksum of terraform-provider-thing_1.2.3_plan9_mips64.zip is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				first := w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{plan9, zos}})
				lines := w.lines(haiku, zos)
				if test.listed != "" {
					lines[w.filename(plan9)] = test.listed
				}
				r := w.release(haiku, zos)
				r.Sums = sums.New(lines).Bytes()
				w.offer(t, r)
				state := to.state(t)
				o := publish.Options{Platforms: []provider.Platform{haiku}}
				_, err := w.run(t, to, o)
				if _, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.Contains(err.Error(), test.reason) {
					t.Fatal(err)
				}
				if to.state(t) != state || to.digest(t) != first.Digest {
					t.Error("unexpected writes")
				}
				o.Force = true
				if result := w.publish(t, to, publish.Replaced, o); len(result.Dropped) == 0 {
					t.Error("the dropped platforms are not reported")
				}
				w.wantStored(t, to, haiku, zos)
			})
		})
	}
}

// TestDocumentsAreKept checks that stored documents are kept when a release without
// documents extends the stored release.
func TestDocumentsAreKept(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: without(haiku)})
		r := w.release(all...)
		r.NoSums, r.Signature, r.Keys, r.Protocols = true, nil, nil, nil
		w.offer(t, r)
		if result := w.publish(t, to, publish.Extended, publish.Options{}); result.Digest != golden {
			t.Errorf("got index %s", result.Digest)
		}
	})
}

// TestStoredSumsLackNewPackage checks that the stored SHA256SUMS must list a new
// package if the new release has no SHA256SUMS.
func TestStoredSumsLackNewPackage(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.offer(t, w.release(plan9, zos))
		w.publish(t, to, publish.Created, publish.Options{})
		r := w.release(haiku)
		r.NoSums, r.Signature, r.Keys = true, nil, nil
		w.offer(t, r)
		_, err := w.run(t, to, publish.Options{})
		if _, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.Contains(err.Error(), "the stored terraform-provider-thing_1.2.3_SHA256SUMS does not match the package for haiku_riscv64") {
			t.Fatal(err)
		}
		w.publish(t, to, publish.Replaced, publish.Options{Force: true})
		if r := w.wantStored(t, to, haiku, plan9, zos); len(r.Documents) != 0 {
			t.Errorf("mismatched documents were kept: %d documents", len(r.Documents))
		}
	})
}

// TestExtendSeparateSums checks that an artifact with one SHA256SUMS per package can be extended.
func TestExtendSeparateSums(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		foreign := provider.Release{Address: w.address, Version: w.version}
		for _, p := range without(haiku) {
			one := artifact.NewDocument("SHA256SUMS", artifact.MediaTypeSums, sums.New(w.lines(p)).Bytes())
			foreign.Packages = append(foreign.Packages, provider.Package{
				Address: w.address, Version: w.version, Platform: p, Filename: w.filename(p),
				Digest: w.zipDigest(p), Size: int64(len(w.zips[p])), Documents: []provider.Document{one},
			})
		}
		w.store(t, to, foreign)
		if got := w.wantStored(t, to, without(haiku)...); len(got.Documents) != 0 {
			t.Fatal("the fixture has shared documents")
		}
		result := w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{haiku}})
		wantSent(t, result, haiku)
		got := w.wantStored(t, to, all...)
		if _, has := got.Document(provider.KindSums); !has {
			t.Error("the new SHA256SUMS does not list all packages")
		}
	})
}

func (w *world) filename(p provider.Platform) string {
	return provider.Filename(w.address, w.version, p)
}

// lines returns the lines of SHA256SUMS.
func (w *world) lines(platforms ...provider.Platform) map[string]digest.Digest {
	lines := map[string]digest.Digest{}
	for _, p := range platforms {
		lines[w.filename(p)] = w.zipDigest(p)
	}
	return lines
}

// store pushes a release as a different publisher would.
func (w *world) store(t *testing.T, to *target, r provider.Release) {
	t.Helper()
	packed, err := artifact.Pack(r, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repo := to.open(t)
	var blobs []artifact.Blob
	for _, p := range r.Packages {
		blobs = append(blobs, artifact.Blob{Descriptor: artifact.ZipDescriptor(p), Bytes: w.zips[p.Platform]})
	}
	for _, d := range packed.Documents {
		blobs = append(blobs, artifact.Blob{Descriptor: ocispec.Descriptor{Digest: d.Digest, Size: d.Size}, Bytes: d.Bytes})
	}
	for _, b := range blobs {
		if err := repo.PushBlob(t.Context(), b.Descriptor, strings.NewReader(string(b.Bytes))); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range packed.Manifests {
		if err := repo.PushManifest(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.PushTag(t.Context(), packed.Index, "1.2.3", ""); err != nil {
		t.Fatal(err)
	}
}

// TestAnotherPublisher checks that releases with identical zips are equal, regardless of
// annotations.
func TestAnotherPublisher(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{})
		_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
		var index ocispec.Index
		if err := errors.Join(err, json.Unmarshal(data, &index)); err != nil {
			t.Fatal(err)
		}
		index.Annotations = nil
		for i := range index.Manifests {
			index.Manifests[i].Annotations = maps.Clone(map[string]string(nil))
		}
		to.plant(t, ocispec.MediaTypeImageIndex, index)
		state := to.state(t)
		w.publish(t, to, publish.Unchanged, publish.Options{AgainstOrigin: true})
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
	})
}
