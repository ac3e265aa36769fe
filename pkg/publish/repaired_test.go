package publish_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// graph returns the index entry and the manifest of a platform.
func (to *target) graph(t *testing.T, p provider.Platform) (artifact.Target, artifact.Manifest) {
	t.Helper()
	_, data, err := to.open(t).Manifest(t.Context(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := artifact.ParseIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := index.Target(p)
	if _, data, err = to.open(t).Manifest(t.Context(), entry.Descriptor.Digest.String()); err != nil {
		t.Fatal(err)
	}
	m, err := artifact.ParseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	return entry, m
}

func layer(m artifact.Manifest, mediaType string) digest.Digest {
	for _, d := range m.Blobs {
		if d.MediaType == mediaType {
			return d.Digest
		}
	}
	return ""
}

// losses lists content that cleanup jobs or full disks can remove.
var losses = map[string]struct {
	part func(artifact.Target, artifact.Manifest) digest.Digest
	sent []provider.Platform
}{
	"manifest": {func(x artifact.Target, _ artifact.Manifest) digest.Digest { return x.Descriptor.Digest }, nil},
	"zip":      {func(_ artifact.Target, m artifact.Manifest) digest.Digest { return m.Zip.Digest }, []provider.Platform{plan9}},
	"sums":     {func(_ artifact.Target, m artifact.Manifest) digest.Digest { return layer(m, artifact.MediaTypeSums) }, nil},
	"signature": {func(_ artifact.Target, m artifact.Manifest) digest.Digest {
		return layer(m, artifact.MediaTypeSignature)
	}, nil},
	"config": {func(artifact.Target, artifact.Manifest) digest.Digest { return ocispec.DescriptorEmptyJSON.Digest }, nil},
}

func TestRepaired(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.publish(t, to, publish.Created, publish.Options{})
				lost := loss.part(to.graph(t, plan9))
				to.lose(t, lost)
				before := w.origin.Requests()[origintest.Zip]
				result := w.publish(t, to, publish.Repaired, publish.Options{})
				if result.Digest != golden {
					t.Errorf("the index is %s now", result.Digest)
				}
				resent := loss.sent
				if name == "manifest" && to.registry != nil {
					resent = []provider.Platform{plan9} // a small zip whose size the tag no longer states
				}
				wantSent(t, result, resent...)
				if n := w.origin.Requests()[origintest.Zip] - before; n != len(resent) {
					t.Errorf("%d zips were fetched", n)
				}
				w.wantStored(t, to, all...)
				w.publish(t, to, publish.Unchanged, publish.Options{})
			})
		})
	}
}

// TestRepairedWhileExtending checks that a run that adds a platform also repairs other
// platforms.
func TestRepairedWhileExtending(t *testing.T) {
	t.Parallel()
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				w.publish(t, to, publish.Created, publish.Options{Platforms: without(haiku)})
				to.lose(t, loss.part(to.graph(t, plan9)))
				result := w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{haiku}})
				if result.Digest != golden {
					t.Errorf("got index %s", result.Digest)
				}
				w.wantStored(t, to, all...)
			})
		})
	}
}

// TestLostInSource checks that a lost package of a platform that was not requested is a
// conflict if the source doesn't have the package, either.
func TestLostInSource(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		first := w.publish(t, to, publish.Created, publish.Options{Platforms: without(haiku)})
		to.lose(t, w.zipDigest(plan9))
		w.offer(t, w.release(without(plan9)...))
		state := to.state(t)
		_, err := w.run(t, to, publish.Options{Platforms: []provider.Platform{haiku}})
		if _, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.Contains(err.Error(), "the package for plan9_mips64 is damaged in the repository, and the source does not have it") {
			t.Error(err)
		}
		if to.digest(t) != first.Digest || to.state(t) != state {
			t.Error("unexpected writes")
		}
		// With Force, the platform is dropped, and the result reports this.
		result := w.publish(t, to, publish.Replaced, publish.Options{Platforms: []provider.Platform{haiku}, Force: true})
		if diff := cmp.Diff([]provider.Platform{plan9}, result.Dropped); diff != "" {
			t.Errorf("dropped (-want +got):\n%s", diff)
		}
		w.wantStored(t, to, haiku, minix, zos)
	})
}

// TestDamagedFiles checks truncated files in a layout. A crash or a full disk can leave
// such files.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.layout(t)
			w.publish(t, to, publish.Created, publish.Options{})
			if err := os.Truncate(to.path(loss.part(to.graph(t, plan9))), 1); err != nil {
				t.Fatal(err)
			}
			result := w.publish(t, to, publish.Repaired, publish.Options{})
			if result.Digest != golden {
				t.Errorf("got index %s", result.Digest)
			}
			wantSent(t, result, loss.sent...)
			w.wantStored(t, to, all...)
		})
	}
}

// TestDamagedInPlace checks a zip with corrupted content of the correct size. If its
// manifest is missing, the zip is restored, because a new manifest must not refer to
// corrupted content.
func TestDamagedInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	w.publish(t, to, publish.Created, publish.Options{})
	path := to.path(w.zipDigest(plan9))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	entry, _ := to.graph(t, plan9)
	to.lose(t, entry.Descriptor.Digest)
	result := w.publish(t, to, publish.Repaired, publish.Options{})
	wantSent(t, result, plan9)
	w.wantStored(t, to, all...)
}

// TestIndexLost checks a layout whose tag points to a missing or damaged index.
func TestIndexLost(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error { return os.Truncate(path, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.layout(t)
			was := w.publish(t, to, publish.Created, publish.Options{})
			if err := harm(to.path(was.Digest)); err != nil {
				t.Fatal(err)
			}
			if result := w.publish(t, to, publish.Repaired, publish.Options{}); result.Digest != was.Digest || result.Moved != 0 {
				t.Errorf("the index is %s, moved %d times", result.Digest, result.Moved)
			}
			w.wantStored(t, to, all...)
		})
	}
}

// TestResumed resumes a run that stopped before it wrote the tag. Only zips of up to 1 MiB
// are sent to a registry again. If the origin doesn't state the size of a zip, the zip is
// requested to find out.
func TestResumed(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origintest.Options{"stated hashes": {}, "no packages block": {NoPackages: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, o, func(t *testing.T, w *world, to *target) {
				w.zips[plan9] = bigZip(t)
				w.offer(t, w.release(all...))
				repo := &watched{Repository: to.open(t), before: func(op string, _ digest.Digest) error {
					if op == "tag" {
						return errors.New("killed")
					}
					return nil
				}}
				if _, err := w.runOver(t.Context(), repo, publish.Options{}); err == nil || to.digest(t) != "" {
					t.Fatalf("tag at %s, %v", to.digest(t), err)
				}
				before := w.origin.Requests()[origintest.Zip]
				result := w.publish(t, to, publish.Created, publish.Options{})
				var again []provider.Platform
				requests := 0
				if to.registry != nil {
					again, requests = without(plan9), len(all)
				}
				wantSent(t, result, again...)
				if n := w.origin.Requests()[origintest.Zip] - before; n < len(again) || n > requests {
					t.Errorf("%d zips were requested again, not %d to %d", n, len(again), requests)
				}
				w.wantStored(t, to, all...)
			})
		})
	}
}

// TestBlobsAreCheckedConcurrently checks that blobs are checked concurrently, because
// sequential requests would take seconds for a large release.
func TestBlobsAreCheckedConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	w.publish(t, to, publish.Created, publish.Options{})
	to.registry.Misbehave(registrytest.BlobHead, barrier(2), 2)
	w.publish(t, to, publish.Unchanged, publish.Options{}) // hangs if the requests are sequential
}
