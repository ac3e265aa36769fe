package publish_test

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestHeadQuirks checks that useless responses to HEAD requests don't change the results
// of commands. In particular, a second run writes nothing.
func TestHeadQuirks(t *testing.T) {
	t.Parallel()
	for _, quirk := range registrytest.HeadQuirks {
		t.Run(quirk, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to, copied := w.registry(t, registrytest.Options{}), w.registry(t, registrytest.Options{NoReferrers: 404})
			to.registry.MisbehaveHead(quirk)
			copied.registry.MisbehaveHead(quirk)
			deep := publish.Options{Check: repository.DepthContent}
			w.publish(t, to, publish.Created, publish.Options{Platforms: without(zos)})
			wantSent(t, w.publish(t, to, publish.Extended, publish.Options{}), zos)
			w.wantCopy(t, to, copied, publish.Created, publish.Options{})
			for _, o := range []publish.Options{{}, {Check: repository.DepthBlobs}, deep} {
				writes := to.registry.Writes() + copied.registry.Writes()
				w.publish(t, to, publish.Unchanged, o)
				w.wantCopy(t, to, copied, publish.Unchanged, o)
				if n := to.registry.Writes() + copied.registry.Writes() - writes; n != 0 {
					t.Errorf("check level %d: %d writing requests", o.Check, n)
				}
			}
			report, err := verify.Repository(t.Context(), to.open(t), []provider.Requirement{{Address: w.address}}, verify.Options{Deep: true})
			if err != nil || report.Releases != 1 {
				t.Errorf("%+v, %v", report, err)
			}
			for _, f := range report.Findings {
				if f.Code != "executable-mode" { // the zips have no modes
					t.Errorf("%+v", f)
				}
			}
			zip := digest.FromBytes(w.zips[plan9])
			to.registry.AddBlob(repositoryName, zip.String(), make([]byte, len(w.zips[plan9])))
			w.publish(t, to, publish.Repaired, deep)
			if w.wantStored(t, to, all...); !to.has(t, zip) {
				t.Error("the zip is missing")
			}
			if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, approval.DenyOptions{Reason: "mines coins"}); err != nil {
				t.Error(err)
			}
			w.publish(t, to, publish.Created, publish.Options{Force: true})
		})
	}
}

// TestHeadLies checks that a run completes a release if the registry reports that it has
// a zip, but misses the zip when it checks the manifest.
func TestHeadLies(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]publish.Options{"new": {}, "staged": {Stage: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			w.zips[plan9] = zipOf(t, strings.Repeat("x", 1<<20)) // smaller zips are sent without a HEAD request
			w.offer(t, w.release(all...))
			to := w.registry(t, registrytest.Options{})
			w.publish(t, to, publish.Created, publish.Options{Platforms: without(plan9)})
			zip := ocispec.Descriptor{Digest: digest.FromBytes(w.zips[plan9]), Size: int64(len(w.zips[plan9]))}
			to.registry.Misbehave(registrytest.BlobHead, registrytest.Claim(zip), -1)
			to.registry.Misbehave(registrytest.ManifestPut, registrytest.ForgetChildren(), -1)
			result, err := w.run(t, to, o)
			if err != nil {
				t.Fatal(err)
			}
			wantSent(t, result, plan9)
			if !to.registry.HasBlob(repositoryName, zip.Digest.String()) {
				t.Error("the zip is missing")
			}
			if o.Stage {
				if _, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{}); err != nil {
					t.Error(err)
				}
			}
			w.wantStored(t, to, all...)
		})
	}
}
