package publish_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

const slsa = "https://slsa.dev/provenance/v1"

// attested is a world with a release that is hosted on GitHub.
type attested struct {
	*world
	github *origintest.GitHub
	host   string
}

func newAttested(t *testing.T, platforms ...provider.Platform) *attested {
	t.Helper()
	w := &attested{world: newWorld(t, origintest.Options{})}
	w.github = origintest.NewGitHub(w.origin)
	w.host = registrytest.Serve(t, w.ca, w.github)
	w.offerHosted(t, platforms...)
	return w
}

func (w *attested) offerHosted(t *testing.T, platforms ...provider.Platform) {
	t.Helper()
	r := w.release(platforms...)
	r.Edit = w.github.Edit
	w.offer(t, r)
}

func (w *attested) digestOf(p provider.Platform) digest.Digest { return digest.FromBytes(w.zips[p]) }

// attest adds one attestation of all packages.
func (w *attested) attest() []byte {
	var zips []digest.Digest
	for _, p := range all {
		zips = append(zips, w.digestOf(p))
	}
	bundle := origintest.Bundle(slsa, zips...)
	w.github.Attest(w.host, bundle, zips...)
	return bundle
}

func (w *attested) mirror(t *testing.T, to *target, o publish.Options) (publish.Result, error) {
	t.Helper()
	github, err := origin.GitHubFromEnv(w.github.Env(w.host, ""))
	if err != nil {
		t.Fatal(err)
	}
	src := origin.New(origin.Options{
		HTTP: w.client, Services: map[svchost.Hostname]string{originHost: "https://" + w.host + "/v1/providers/"}, GitHub: github,
	})
	return w.publisher().Release(t.Context(), src, to.open(t), w.address, w.version, o)
}

// stored returns the contents of the attestations of each platform, read by an OCI source.
func (w *attested) stored(t *testing.T, to *target) map[provider.Platform][]string {
	t.Helper()
	s := oci.New(func(provider.Address) (repository.Reader, error) { return to.open(t), nil })
	r, err := s.Release(t.Context(), w.address, w.version)
	if err == nil {
		r, err = provider.WithAttestations(t.Context(), s, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[provider.Platform][]string{}
	for _, p := range r.Packages {
		for _, d := range p.Documents {
			if d.Kind == provider.KindSigstore && d.Scope == provider.ScopePackage {
				found[p.Platform] = append(found[p.Platform], string(d.Bytes))
			}
		}
	}
	return found
}

// attestedKinds maps the kinds of repositories to their options. The layout has none.
var attestedKinds = map[string]*registrytest.Options{"layout": nil, "API": {}, "no API": {NoReferrers: http.StatusNotFound}}

func eachAttested(t *testing.T, scenario func(t *testing.T, w *attested, to *target)) {
	t.Helper()
	for name, o := range attestedKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAttested(t, haiku, plan9)
			to := w.layout(t)
			if o != nil {
				to = w.registry(t, *o)
			}
			scenario(t, w, to)
		})
	}
}

// TestAttestations checks that attestations are stored with new versions, that nothing is
// requested for existing versions, and that added platforms get their attestations while
// existing attestations are kept.
func TestAttestations(t *testing.T) {
	t.Parallel()
	eachAttested(t, func(t *testing.T, w *attested, to *target) {
		bundle := string(w.attest())
		o := publish.Options{Attestations: publish.AttestationsRequire}
		r, err := w.mirror(t, to, o)
		if err != nil || len(r.Attached) != 2 || r.Unattested != nil {
			t.Fatalf("attached %v, %v, %v", r.Attached, r.Unattested, err)
		}
		if !strings.HasPrefix(r.Attached[0], "terraform-provider-thing_1.2.3_haiku_riscv64.zip.") {
			t.Errorf("attached %v", r.Attached)
		}
		want := map[provider.Platform][]string{haiku: {bundle}, plan9: {bundle}}
		if diff := cmp.Diff(want, w.stored(t, to)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		requests, state := len(w.github.Requests()), to.state(t)
		if r, err := w.mirror(t, to, o); err != nil || r.Status != publish.Unchanged || len(w.github.Requests()) != requests || to.state(t) != state {
			t.Errorf("got %s, %v, and %d more requests", r.Status, err, len(w.github.Requests())-requests)
		}
		// Without --attestations, the new platform has none. SHA256SUMS changes all manifests.
		w.offerHosted(t, haiku, plan9, minix)
		if r, err := w.mirror(t, to, publish.Options{}); err != nil || r.Status != publish.Extended || len(r.Attached) != 2 {
			t.Fatalf("got %s, attached %v, %v", r.Status, r.Attached, err)
		}
		if diff := cmp.Diff(want, w.stored(t, to)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		w.offerHosted(t, haiku, plan9, minix, zos)
		if r, err := w.mirror(t, to, o); err != nil || r.Status != publish.Extended {
			t.Fatalf("got %s, %v", r.Status, err)
		}
		want[zos] = []string{bundle}
		if diff := cmp.Diff(want, w.stored(t, to)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
	})
}

// TestAttestStored checks that a later run adds attestations to a stored release, except
// with a low check level or in a dry run, and that missing attestations cause no errors.
func TestAttestStored(t *testing.T) {
	t.Parallel()
	eachAttested(t, func(t *testing.T, w *attested, to *target) {
		if _, err := w.mirror(t, to, publish.Options{}); err != nil {
			t.Fatal(err)
		}
		require := publish.Options{Attestations: publish.AttestationsRequire}
		if r, err := w.mirror(t, to, require); err != nil || r.Status != publish.Unchanged {
			t.Errorf("got %s, %v", r.Status, err)
		}
		bundle, index := string(w.attest()), to.digest(t)
		for _, test := range []struct {
			options publish.Options
			want    publish.Status
		}{
			{publish.Options{Attestations: publish.AttestationsFetch, Check: repository.DepthIndex}, publish.Unchanged},
			{publish.Options{Attestations: publish.AttestationsFetch, DryRun: true}, publish.Extended},
			{publish.Options{}, publish.Unchanged},
		} {
			if r, err := w.mirror(t, to, test.options); err != nil || r.Status != test.want || len(w.stored(t, to)) > 0 {
				t.Errorf("%+v: got %s, %v", test.options, r.Status, err)
			}
		}
		r, err := w.mirror(t, to, require)
		if err != nil || r.Status != publish.Extended || len(r.Attached) != 2 || to.digest(t) != index {
			t.Errorf("got %s, attached %v, %v", r.Status, r.Attached, err)
		}
		if diff := cmp.Diff(map[provider.Platform][]string{haiku: {bundle}, plan9: {bundle}}, w.stored(t, to)); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		requests := len(w.github.Requests())
		if r, err := w.mirror(t, to, require); err != nil || r.Status != publish.Unchanged || len(w.github.Requests()) != requests {
			t.Errorf("got %s, %v", r.Status, err)
		}
	})
}

// TestGateReceivesAttestations checks that a gate receives the attestations of new and
// copied releases.
func TestGateReceivesAttestations(t *testing.T) {
	t.Parallel()
	eachAttested(t, func(t *testing.T, w *attested, to *target) {
		bundle := w.attest()
		g, file := gateOf(t, allows, "{attestations}")
		g.Platforms = []provider.Platform{plan9}
		check := func() {
			t.Helper()
			c := readCall(t, file)
			platforms, _ := c.Input["platforms"].([]any)
			want := []any{map[string]any{"predicate_type": slsa, "digest": digest.FromBytes(bundle).String(), "size": float64(len(bundle))}}
			for _, p := range platforms {
				if diff := cmp.Diff(any(want), p.(map[string]any)["attestations"]); diff != "" {
					t.Errorf("attestations (-want +got):\n%s", diff)
				}
			}
			if files := c.Files[c.Args[0]]; len(platforms) != 2 || string(files) != string(bundle) {
				t.Errorf("platforms %v, file %q", platforms, files)
			}
		}
		if _, err := w.mirror(t, to, publish.Options{Attestations: publish.AttestationsFetch, Gates: gate.Gates{g}}); err != nil {
			t.Fatal(err)
		}
		check()
		if _, err := w.publisher().Copy(t.Context(), to.open(t), w.layout(t).open(t), w.address, w.version, publish.Options{Gates: gate.Gates{g}}); err != nil {
			t.Fatal(err)
		}
		check()
	})
}

// TestCopyKeepsAttestations checks that a copy has the attestations, in every combination
// of repositories.
func TestCopyKeepsAttestations(t *testing.T) {
	t.Parallel()
	eachAttested(t, func(t *testing.T, w *attested, from *target) {
		w.attest()
		if _, err := w.mirror(t, from, publish.Options{Attestations: publish.AttestationsFetch}); err != nil {
			t.Fatal(err)
		}
		want := w.stored(t, from)
		for name, o := range attestedKinds {
			to := w.layout(t)
			if o != nil {
				to = w.registry(t, *o)
			}
			_, err := w.publisher().Copy(t.Context(), from.open(t), to.open(t), w.address, w.version, publish.Options{})
			if diff := cmp.Diff(want, w.stored(t, to)); diff != "" || err != nil || len(want) != 2 {
				t.Errorf("to %s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	})
}

// TestUnattested checks the two modes for releases without attestations and for a rate
// limit.
func TestUnattested(t *testing.T) {
	t.Parallel()
	limit := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"API rate limit exceeded"}`, http.StatusForbidden)
	}
	for name, limited := range map[string]bool{"none": false, "rate limit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAttested(t, haiku, plan9)
			if limited {
				w.github.Serve("/api/v3/repos/acme/terraform-provider-thing/attestations/"+w.digestOf(haiku).String(), limit)
			}
			to := w.registry(t, registrytest.Options{})
			_, err := w.mirror(t, to, publish.Options{Attestations: publish.AttestationsRequire})
			if err == nil || to.digest(t) != "" || !strings.Contains(err.Error(), "attestation") || !limited && provider.KindOf(err) != provider.Unverified {
				t.Errorf("required: %v", err)
			}
			r, err := w.mirror(t, to, publish.Options{Attestations: publish.AttestationsFetch})
			if err != nil || (r.Unattested != nil) != limited || r.Status != publish.Created {
				t.Errorf("got %s, %v, %v", r.Status, r.Unattested, err)
			}
			if limited && !errors.Is(r.Unattested, provider.ErrForbidden) {
				t.Errorf("got %v", r.Unattested)
			}
		})
	}
}

// TestChecksumsAttestation checks that a bundle about SHA256SUMS is stored with the checksums.
func TestChecksumsAttestation(t *testing.T) {
	t.Parallel()
	w := newAttested(t, haiku)
	to := w.layout(t)
	if _, err := w.mirror(t, to, publish.Options{}); err != nil {
		t.Fatal(err)
	}
	sums, _ := w.world.stored(t, to).Document(provider.KindSums)
	w.github.AddFile("terraform-provider-thing_1.2.3_SHA256SUMS.sigstore.json", origintest.BlobBundle(sums.Digest))
	other := w.layout(t)
	r, err := w.mirror(t, other, publish.Options{Attestations: publish.AttestationsFetch})
	bundle, has := w.world.stored(t, other).Document(provider.KindSigstore)
	if err != nil || r.Unattested != nil || !has || bundle.Name != "terraform-provider-thing_1.2.3_SHA256SUMS.sigstore.json" {
		t.Errorf("got %v, %v, %v", bundle.Name, r.Unattested, err)
	}
}

// TestAttestationsWithoutReferrers checks a registry that can't store referrers.
func TestAttestationsWithoutReferrers(t *testing.T) {
	t.Parallel()
	w := newAttested(t, haiku)
	w.attest()
	to := w.registry(t, registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true})
	if _, err := w.mirror(t, to, publish.Options{Attestations: publish.AttestationsRequire}); !errors.Is(err, repository.ErrNoReferrersList) || to.digest(t) != "" {
		t.Errorf("required: %v", err)
	}
	r, err := w.mirror(t, to, publish.Options{Attestations: publish.AttestationsFetch})
	if err != nil || !errors.Is(r.Unattested, repository.ErrNoReferrersList) {
		t.Errorf("got %v, %v", r.Unattested, err)
	}
}

// TestAttestationFormat checks that the referrer has the format of cosign 3.
func TestAttestationFormat(t *testing.T) {
	t.Parallel()
	bundle := artifact.NewDocument("x.sigstore.json", artifact.MediaTypeSigstore, origintest.Bundle(slsa, digest.FromString("x")))
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("m"), Size: 1}
	got, err := artifact.PackAttestation(bundle, subject)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"TYPE",` +
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"artifactType":"TYPE"},` +
		`"layers":[{"mediaType":"TYPE","digest":"LAYER","size":SIZE}],"subject":{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"SUBJECT","size":1},` +
		`"annotations":{"dev.sigstore.bundle.content":"dsse-envelope","dev.sigstore.bundle.predicateType":"https://slsa.dev/provenance/v1"}}`
	text := strings.NewReplacer(artifact.MediaTypeSigstore, "TYPE", bundle.Digest.String(), "LAYER", subject.Digest.String(), "SUBJECT").Replace(string(got.Manifest.Bytes))
	if sized := strings.Replace(want, "SIZE", strings.Split(strings.Split(text, `"LAYER","size":`)[1], "}")[0], 1); text != sized {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if !slices.Equal([]string{got.Entry.ArtifactType}, []string{artifact.MediaTypeSigstore}) {
		t.Error(got.Entry)
	}
}
