package publish_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// golden is the digest of the index that results from every world's release. It changes
// only if the format changes. A format change also changes the digests of all mirrors.
const golden = "sha256:a7c1154457d44d5e9cda421fc070743848806a65cf0cdf8d164421d7e9c2fef8"

func TestCreated(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		result := w.publish(t, to, publish.Created, publish.Options{})
		if result.Digest != golden {
			t.Errorf("got index %s", result.Digest)
		}
		if result.Tag != "1.2.3" || result.Address != w.address || result.Version != w.version || result.Moved != 0 {
			t.Errorf("%+v", result)
		}
		wantSent(t, result, all...)
		if n := w.origin.Requests(); n[origintest.Zip] != 4 || n[origintest.Sums] != 1 {
			t.Errorf("unexpected requests to the origin: %v", n)
		}
		r := w.wantStored(t, to, all...)
		if diff := cmp.Diff([]string{"5.0", "6.0"}, r.Protocols); diff != "" {
			t.Error(diff)
		}
		for kind, want := range map[provider.DocumentKind]string{provider.KindSignature: "a signature", provider.KindKeys: "a key\n"} {
			if d, _ := r.Document(kind); string(d.Bytes) != want {
				t.Errorf("%s: %q", kind, d.Bytes)
			}
		}
	})
}

// TestCreatedWithoutOptionalFacts checks that the result does not depend on optional
// facts from the origin.
func TestCreatedWithoutOptionalFacts(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{NoPackages: true}, func(t *testing.T, w *world, to *target) {
		w.concurrency = 1
		if result := w.publish(t, to, publish.Created, publish.Options{}); result.Digest != golden {
			t.Errorf("got index %s", result.Digest)
		}
		if n := w.origin.Requests()[origintest.Zip]; n != 4 {
			t.Errorf("%d zips were fetched", n)
		}
	})
}

func TestCreatedForSomePlatforms(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		wanted := []provider.Platform{zos, haiku, zos}
		result := w.publish(t, to, publish.Created, publish.Options{Platforms: wanted})
		wantSent(t, result, haiku, zos)
		w.wantStored(t, to, haiku, zos)
		if diff := cmp.Diff([]provider.Platform{zos, haiku, zos}, wanted); diff != "" {
			t.Errorf("the argument was changed: %s", diff)
		}
	})
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]origintest.Options{"stated hashes": {}, "no packages block": {NoPackages: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, o, func(t *testing.T, w *world, to *target) {
				first := w.publish(t, to, publish.Created, publish.Options{})
				before, state := w.origin.Requests(), to.state(t)
				for name, o := range map[string]publish.Options{"all": {}, "some": {Platforms: []provider.Platform{plan9}}} {
					again := w.publish(t, to, publish.Unchanged, o)
					if again.Digest != first.Digest {
						t.Errorf("%s: another index", name)
					}
					wantSent(t, again)
					for _, p := range again.Packages {
						for _, was := range first.Packages {
							was.Package.Locator, was.Sent, was.Warning = nil, false, "" // zips that are present are not read
							if was.Package.Platform == p.Package.Platform {
								if diff := cmp.Diff(was, p, cmpopts.EquateComparable(provider.Version{})); diff != "" {
									t.Errorf("%s: %s", name, diff)
								}
							}
						}
					}
				}
				if diff := cmp.Diff(map[origintest.Kind]int{origintest.Versions: 1}, w.requestsSince(before)); diff != "" {
					t.Errorf("wrong requests to the origin: %s", diff)
				}
				if to.state(t) != state {
					t.Error("unexpected writes")
				}
			})
		})
	}
}

// TestAgainstOrigin checks that AgainstOrigin detects a changed version. If the origin
// states hashes, AgainstOrigin requests only one package document.
func TestAgainstOrigin(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{})
		before, state := w.origin.Requests(), to.state(t)
		w.publish(t, to, publish.Unchanged, publish.Options{AgainstOrigin: true})
		if diff := cmp.Diff(map[origintest.Kind]int{origintest.Versions: 1, origintest.Package: 1}, w.requestsSince(before)); diff != "" {
			t.Errorf("wrong requests to the origin: %s", diff)
		}
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
	})
}

func TestExtended(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{minix, zos}})
		before := w.origin.Requests()[origintest.Zip]
		result := w.publish(t, to, publish.Extended, publish.Options{})
		wantSent(t, result, haiku, plan9)
		if n := w.origin.Requests()[origintest.Zip] - before; n != 2 {
			t.Errorf("%d zips were fetched", n)
		}
		if result.Digest != golden {
			t.Errorf("got index %s, which differs from that of a direct run", result.Digest)
		}
		if diff := cmp.Diff(all, platformsOf(result)); diff != "" {
			t.Error(diff)
		}
		w.wantStored(t, to, all...)
	})
}

// TestExtendedByOthers checks that stored platforms are kept even if they are not
// requested.
func TestExtendedByOthers(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{minix, zos}})
		before := w.origin.Requests()[origintest.Zip]
		result := w.publish(t, to, publish.Extended, publish.Options{Platforms: []provider.Platform{plan9, haiku}})
		wantSent(t, result, haiku, plan9)
		if n := w.origin.Requests()[origintest.Zip] - before; n != 2 {
			t.Errorf("%d zips were fetched", n)
		}
		if diff := cmp.Diff([]provider.Platform{haiku, plan9}, platformsOf(result)); diff != "" {
			t.Errorf("wrong results: %s", diff)
		}
		if result.Digest != golden {
			t.Errorf("got index %s, which differs from that of a direct run", result.Digest)
		}
	})
}

func TestRegistryRequestCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	w.publish(t, to, publish.Created, publish.Options{})
	// Four zips, config, SHA256SUMS, signature, and keys; four manifests and a tag.
	n := to.registry.Requests()
	want := map[registrytest.Kind]int{registrytest.UploadPost: 8, registrytest.UploadPut: 8, registrytest.ManifestPut: 5, registrytest.BlobHead: 0}
	for kind, most := range want {
		if n[kind] != most {
			t.Errorf("%d requests of kind %s, not %d", n[kind], kind, most)
		}
	}
	if n[registrytest.BlobGet] != 0 {
		t.Errorf("%d blobs were read back", n[registrytest.BlobGet])
	}
}
