package artifact_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// rocketSBOM covers all platforms of the golden release.
var rocketSBOM = artifact.NewDocument("terraform-provider-rocket.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))

func packReferrer(t *testing.T, a provider.Document, subject ocispec.Descriptor) artifact.Referrer {
	t.Helper()
	r, err := artifact.PackReferrer(a, subject)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPackReferrerGolden(t *testing.T) {
	t.Parallel()
	index := pack(t, rocket(t)).Index.Descriptor
	r := packReferrer(t, rocketSBOM, index)
	golden(t, "referrer.json", r.Manifest.Bytes)
	list, err := artifact.AddReferrer(nil, r.Entry)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "referrers.json", list.Bytes)
	if got, want := artifact.ReferrersTag(index.Digest), "sha256-"+index.Digest.Encoded(); got != want {
		t.Errorf("the tag is %s, not %s", got, want)
	}
}

func TestPackReferrerRoundTrip(t *testing.T) {
	t.Parallel()
	index := pack(t, rocket(t)).Index.Descriptor
	r := packReferrer(t, rocketSBOM, index)
	layer, err := artifact.ParseReferrer(r.Manifest.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if layer.Digest != rocketSBOM.Digest || r.Document.Digest != layer.Digest || string(r.Document.Bytes) != string(rocketSBOM.Bytes) {
		t.Errorf("the layer is %v, the document %q", layer, r.Document.Bytes)
	}
	if string(r.Config.Bytes) != "{}" || r.Config.Digest != digest.FromBytes(r.Config.Bytes) {
		t.Errorf("got config %+v", r.Config)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(r.Manifest.Bytes, &manifest); err != nil {
		t.Fatal(err)
	}
	want := &ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: index.Digest, Size: index.Size}
	if diff := cmp.Diff(want, manifest.Subject); diff != "" {
		t.Errorf("subject (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r, packReferrer(t, rocketSBOM, index)); diff != "" {
		t.Errorf("equal input results in different bytes:\n%s", diff)
	}
}

func TestPackReferrerErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "../sbom.json", ".hidden", "a b"} {
		if _, err := artifact.PackReferrer(artifact.NewDocument(name, artifact.MediaTypeSPDX, nil), ocispec.Descriptor{}); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
}

func TestAddReferrerKeepsOthers(t *testing.T) {
	t.Parallel()
	entry := func(text string) ocispec.Descriptor {
		return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(text), Size: 1, Annotations: map[string]string{"k": text}}
	}
	first := []ocispec.Descriptor{entry("a")}
	list, err := artifact.AddReferrer(first, entry("b"), entry("c"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := artifact.ParseReferrers(list.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ocispec.Descriptor{entry("a"), entry("b"), entry("c")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(first) != 1 || list.Descriptor.Digest != digest.FromBytes(list.Bytes) {
		t.Error("the argument changed, or the descriptor is of something else")
	}
}

func TestParseReferrersErrors(t *testing.T) {
	t.Parallel()
	packed := pack(t, rocket(t))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"the subject itself": {packed.Index.Bytes, `expected a referrers list, got an index of artifact type "application/vnd.opentofu.provider"`},
		"a manifest":         {packed.Manifests[0].Bytes, "got an image manifest of artifact type"},
		"text":               {[]byte("text"), "invalid JSON"},
		"too large":          {[]byte(strings.Repeat(" ", artifact.MaxManifestSize+1)), "OpenTofu reads at most 4194304"},
	} {
		_, err := artifact.ParseReferrers(test.data)
		if _, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseReferrerErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ data, want string }{
		"text":      {"text", "invalid JSON"},
		"no layer":  {`{"layers":[]}`, "referrer has no layer"},
		"no digest": {`{"layers":[{"size":1}]}`, "invalid referrer layer: invalid digest"},
		"huge":      {`{"layers":[{"digest":"` + digest.FromString("").String() + `","size":99999999999}]}`, "invalid size 99999999999"},
	} {
		_, err := artifact.ParseReferrer([]byte(test.data))
		if _, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDocumentType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ document, want, problem string }{
		{`{"spdxVersion":"SPDX-2.3"}`, artifact.MediaTypeSPDX, ""},
		{`{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":[]}`, artifact.MediaTypeSPDX, ""},
		{`{"bomFormat":"CycloneDX","specVersion":"1.6"}`, artifact.MediaTypeCycloneDX, ""},
		{`{"@context":"https://schema.org","@type":"Person"}`, "", "x is neither an SPDX nor a CycloneDX document"},
		{`{"@context":["https://spdx.org/"]}`, "", "x is neither an SPDX nor a CycloneDX document"},
		{`{}`, "", "x is neither an SPDX nor a CycloneDX document"},
		{`null`, "", "x is neither an SPDX nor a CycloneDX document"},
		{`[]`, "", "x is not a JSON document"},
		{`<xml/>`, "", "x is not a JSON document"},
		{``, "", "x is not a JSON document"},
	} {
		got, err := artifact.DocumentType(provider.KindSBOM, "x", []byte(test.document))
		if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %q, %v", test.document, got, err)
		}
	}
}

// TestAnnotations checks that the format's annotations override custom annotations.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	r.Protocols = nil
	packed, err := artifact.Pack(r, artifact.Options{SourceURL: sourceURL, Annotations: map[string]string{
		"com.example.team": "rockets", ocispec.AnnotationVersion: "9", ocispec.AnnotationSource: "elsewhere",
		artifact.AnnotationProvider: "someone/else", "io.github.tofu-oci.protocols": "99", "io.github.tofu-oci.zh": "zh:",
	}})
	if err != nil {
		t.Fatal(err)
	}
	index, err := artifact.ParseIndex(packed.Index.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"com.example.team": "rockets", ocispec.AnnotationVersion: r.Version.String(), ocispec.AnnotationSource: sourceURL,
		artifact.AnnotationProvider: r.Address.ASCII(), ocispec.AnnotationCreated: provider.CleanDate(r.Published).Format(time.RFC3339),
	}, index.Annotations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPackRemoteDocuments checks that documents without content in memory result in the same
// artifact, and that unreadable documents are rejected.
func TestPackRemoteDocuments(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	want := pack(t, r)
	sbom := r.Packages[1].Documents[1]
	lazy := sbom
	lazy.Bytes, lazy.Content = nil, sbom.Open
	r.Packages[1].Documents[1] = lazy
	got := pack(t, r)
	if diff := cmp.Diff(want.Index, got.Index); diff != "" {
		t.Errorf("another index:\n%s", diff)
	}
	for _, d := range got.Documents {
		content, err := d.Read(t.Context())
		if err != nil || digest.FromBytes(content) != d.Digest {
			t.Errorf("%s is packed with other contents, %v", d.Name, err)
		}
	}
	lazy.Content = nil
	r.Packages[1].Documents[1] = lazy
	_, err := artifact.Pack(r, artifact.Options{})
	if provider.KindOf(err) != provider.Refused || !strings.Contains(err.Error(), sbom.Name) {
		t.Errorf("a document that no one can open: got %v", err)
	}
	lazy.Content, lazy.Size = sbom.Open, artifact.MaxDocumentSize+1
	r.Packages[1].Documents[1] = lazy
	if _, err := artifact.Pack(r, artifact.Options{}); err == nil || !strings.Contains(err.Error(), "sbom.spdx.json exceeds 33554432 bytes") {
		t.Errorf("got %v", err)
	}
}

// TestPackCycloneDX checks that SBOMs of both formats have the same position in the manifest.
func TestPackCycloneDX(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	r.Packages[1].Documents = append(r.Packages[1].Documents, artifact.NewDocument("sbom.cdx.json", artifact.MediaTypeCycloneDX, []byte(`{"bomFormat":"CycloneDX"}`)))
	m, err := artifact.ParseManifest(pack(t, r).Manifests[1].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, d := range m.Documents {
		types = append(types, d.MediaType)
	}
	want := []string{
		artifact.MediaTypeSignature, artifact.MediaTypeSPDX, artifact.MediaTypeCycloneDX, artifact.MediaTypeInToto,
		artifact.MediaTypeSums, artifact.MediaTypeSignature, artifact.MediaTypeKeys,
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}
