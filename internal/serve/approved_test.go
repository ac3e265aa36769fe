package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// TestForgedIndexIsNotApproved checks that an approval doesn't apply to an index that only
// claims, in its annotations, to have the approved zips.
func TestForgedIndexIsNotApproved(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	signer := key.signer(t)
	rules, err := trust.ParseRules("trust.hcl", fmt.Appendf(nil, "trust \"*/*/*\" {\n  approval      = \"signed\"\n  approval_keys = [\"%X\"]\n}\n", key.PrimaryKey.Fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	start := func() *world { return newLayout(t, func(o *serve.Options) { o.Approval = trust.Policy{Rules: rules} }) }
	for _, forged := range []bool{false, true} {
		w := start()
		w.push(t, rocket{version: "1.0.0"})
		w.push(t, rocket{version: "1.0.1"})
		a, v := nouns.Address(t, "acme/rocket"), nouns.Version(t, "1.0.0")
		if _, err := approval.Promote(t.Context(), w.repo, a, v, approval.PromoteOptions{Reason: "reviewed", Signer: signer}); err != nil {
			t.Fatal(err)
		}
		replaceIndex(t, w, "1.0.0", "1.0.1", forged)
		got := w.get(t, mirrored+"1.0.0.json")
		if want := map[bool]int{false: http.StatusOK, true: http.StatusForbidden}[forged]; got.Code != want || forged && !strings.Contains(got.Body.String(), "is not approved") {
			t.Errorf("forged %t: got %d %s", forged, got.Code, got.Body)
		}
	}
}

// TestApprovalForEachAddress checks that a release is approved or refused regardless of the
// address in the request, although only the rule for the stored address might apply.
func TestApprovalForEachAddress(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	alias, err := provider.ParseAlias("registry.terraform.io/*/*=registry.example.com/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"registry.example.com/*/*", "registry.terraform.io/*/*", "*/*/*"} {
		for _, approved := range []bool{false, true} {
			rules, err := trust.ParseRules("trust.hcl", fmt.Appendf(nil, "trust %q {\n  approval      = \"signed\"\n  approval_keys = [\"%X\"]\n}\n", pattern, key.PrimaryKey.Fingerprint))
			if err != nil {
				t.Fatal(err)
			}
			w := newLayout(t, func(o *serve.Options) {
				o.Approval, o.Aliases = trust.Policy{Rules: rules}, provider.Aliases{alias}
			})
			w.push(t, rocket{host: "registry.example.com", version: "1.0.0", key: key})
			if approved {
				_, err := approval.Promote(t.Context(), w.repo, nouns.Address(t, "registry.example.com/acme/rocket"), nouns.Version(t, "1.0.0"), approval.PromoteOptions{Reason: "reviewed", Signer: key.signer(t)})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{
				"/mirror/registry.example.com/acme/rocket/1.0.0.json", "/mirror/registry.terraform.io/acme/rocket/1.0.0.json",
				"/v1/providers/acme/rocket/1.0.0/download/plan9/mips",
			} {
				want := http.StatusOK
				if !approved && (pattern != "registry.terraform.io/*/*" || strings.Contains(path, "terraform.io")) {
					want = http.StatusForbidden
				}
				if got := w.get(t, path); got.Code != want {
					t.Errorf("rule for %s, approved %t, %s: got %d %s", pattern, approved, path, got.Code, got.Body)
				}
			}
			listed := strings.Contains(w.get(t, "/v1/providers/acme/rocket/versions").Body.String(), `"1.0.0"`)
			if want := approved || pattern == "registry.terraform.io/*/*"; listed != want {
				t.Errorf("rule for %s, approved %t: listed %t", pattern, approved, listed)
			}
		}
	}
}

// replaceIndex points a tag to a new index with the same annotations, and attaches the
// decisions about the previous index. If forged is set, the manifests are those of another
// tag.
func replaceIndex(t *testing.T, w *world, tag, other string, forged bool) {
	t.Helper()
	read := func(tag string) (x ocispec.Index, d digest.Digest) {
		descriptor, data, err := w.repo.Manifest(t.Context(), tag)
		if err == nil {
			err = json.Unmarshal(data, &x)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x, descriptor.Digest
	}
	index, was := read(tag)
	index.Annotations["com.example.changed"] = "yes"
	if evil, _ := read(other); forged {
		for i := range index.Manifests {
			index.Manifests[i].Digest, index.Manifests[i].Size = evil.Manifests[i].Digest, evil.Manifests[i].Size
		}
	}
	data, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	b := artifact.Blob{Descriptor: ocispec.Descriptor{MediaType: index.MediaType, ArtifactType: index.ArtifactType, Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
	if err := w.repo.PushTag(t.Context(), b, tag, was); err != nil {
		t.Fatal(err)
	}
	records, err := repository.Decisions(t.Context(), w.repo, was)
	if err == nil {
		err = repository.CarryDecisions(t.Context(), w.repo, records, b)
	}
	if err != nil {
		t.Fatal(err)
	}
}
