package artifact_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var update = flag.Bool("update", false, "rewrite the golden vectors")

// vectors contains golden files, which implementations in other languages can also use.
// See docs/format.md.
const vectors = "../../testdata/artifact"

const sourceURL = "https://example.com/acme/terraform-provider-rocket"

// rocket returns the release of the golden files: two platforms and all kinds of documents.
func rocket(t *testing.T) provider.Release {
	t.Helper()
	a, err := provider.ParseAddress("bücher.example:8443/acme/rocket")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.2.3-beta1+build.5")
	if err != nil {
		t.Fatal(err)
	}
	r := provider.Release{
		Address: a, Version: v, Protocols: []string{"5.0", "6.1"},
		Published: time.Date(2026, 3, 4, 5, 6, 7, 999, time.FixedZone("", 3600)),
	}
	var list strings.Builder
	for _, p := range []provider.Platform{{OS: "linux", Arch: "riscv64"}, {OS: "plan9", Arch: "386"}} {
		name, zip := provider.Filename(a, v, p), "zip for "+p.String()
		r.Packages = append(r.Packages, provider.Package{
			Address: a, Version: v, Platform: p, Filename: name,
			Digest: digest.FromString(zip), Size: int64(len(zip)),
		})
		fmt.Fprintf(&list, "%s  %s\n", digest.FromString(zip).Encoded(), name)
	}
	r.Packages[0].H1 = "h1:" + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	r.Packages[1].Documents = []provider.Document{
		artifact.NewDocument(r.Packages[1].Filename+".sig", artifact.MediaTypeSignature, []byte("the package's signature")),
		artifact.NewDocument("sbom.spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`)),
		artifact.NewDocument("provenance.json", artifact.MediaTypeInToto, []byte(`{"_type":"x"}`)),
	}
	sums := provider.SumsName(a, v)
	r.Documents = []provider.Document{
		artifact.NewDocument(sums, artifact.MediaTypeSums, []byte(list.String())),
		artifact.NewDocument(sums+".sig", artifact.MediaTypeSignature, []byte("the sums' signature")),
		artifact.NewDocument("keys.asc", artifact.MediaTypeKeys, []byte("keys")),
	}
	return r
}

func pack(t *testing.T, r provider.Release) artifact.Packed {
	t.Helper()
	packed, err := artifact.Pack(r, artifact.Options{SourceURL: sourceURL})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func TestPackGolden(t *testing.T) {
	t.Parallel()
	packed := pack(t, rocket(t))
	golden(t, "index.json", packed.Index.Bytes)
	golden(t, "manifest-linux_riscv64.json", packed.Manifests[0].Bytes)
	golden(t, "manifest-plan9_386.json", packed.Manifests[1].Bytes)
}

// golden compares data with a golden file, byte for byte, because digests depend on every byte.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join(vectors, name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestPackIsIndependentOfOrder(t *testing.T) {
	t.Parallel()
	want := pack(t, rocket(t))
	shuffled := rocket(t)
	slices.Reverse(shuffled.Packages)
	slices.Reverse(shuffled.Documents)
	slices.Reverse(shuffled.Packages[0].Documents)
	if diff := cmp.Diff(want, pack(t, shuffled)); diff != "" {
		t.Errorf("the bytes depend on the order (-sorted +shuffled):\n%s", diff)
	}
	if shuffled.Packages[0].Platform.OS != "plan9" || shuffled.Documents[0].Name != "keys.asc" {
		t.Error("Pack sorted its argument")
	}
}

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	packed := pack(t, r)
	index, err := artifact.ParseIndex(packed.Index.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Platforms(), index.Platforms()); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.Protocols, index.Protocols()); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
	if want := provider.CleanDate(r.Published); index.Published() != want {
		t.Errorf("published on %s, not %s", index.Published(), want)
	}
	wantAnnotations := map[string]string{
		"org.opencontainers.image.created": "2026-03-04T04:06:07Z",
		"org.opencontainers.image.version": "1.2.3-beta1+build.5",
		"org.opencontainers.image.source":  sourceURL,
		"io.github.tofu-oci.provider":      "xn--bcher-kva.example:8443/acme/rocket",
		"io.github.tofu-oci.protocols":     "5.0,6.1",
	}
	if diff := cmp.Diff(wantAnnotations, index.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	for i, p := range r.Packages {
		target, found := index.Target(p.Platform)
		if !found || target.Descriptor.Digest != packed.Manifests[i].Descriptor.Digest || target.Descriptor.Size != packed.Manifests[i].Descriptor.Size {
			t.Errorf("%s: got %v, %t", p.Platform, target, found)
		}
		if d, ok := target.Digest(); !ok || d != p.Digest {
			t.Errorf("%s: got the digest %s, %t", p.Platform, d, ok)
		}
		if target.H1() != p.H1 {
			t.Errorf("%s: got the h1 %q, want %q", p.Platform, target.H1(), p.H1)
		}
		m, err := artifact.ParseManifest(packed.Manifests[i].Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(artifact.ZipDescriptor(p), m.Zip); diff != "" {
			t.Errorf("%s: zip (-want +got):\n%s", p.Platform, diff)
		}
		if m.Title != p.Filename || m.Annotations[ocispec.AnnotationSource] != sourceURL {
			t.Errorf("%s: got %q, %v", p.Platform, m.Title, m.Annotations)
		}
		want := make([]provider.Document, 0, len(m.Documents))
		for _, d := range m.Documents {
			want = append(want, artifact.NewDocument(d.Annotations[ocispec.AnnotationTitle], d.MediaType, blob(t, packed, d.Digest)))
		}
		if diff := cmp.Diff(want, slices.Concat(p.Documents, r.Documents)); diff != "" {
			t.Errorf("%s: documents (-want +got):\n%s", p.Platform, diff)
		}
	}
	if other, found := index.Target(provider.Platform{OS: "plan9", Arch: "amd64"}); found {
		t.Errorf("a platform that was not packed: %v", other)
	}
}

// blob returns the content that a descriptor refers to.
func blob(t *testing.T, packed artifact.Packed, d digest.Digest) []byte {
	t.Helper()
	for _, document := range packed.Documents {
		if document.Digest == d {
			return document.Bytes
		}
	}
	t.Fatalf("%s is not among the blobs", d)
	return nil
}

func TestPackOrdersLayers(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	slices.Reverse(r.Documents)
	m, err := artifact.ParseManifest(pack(t, r).Manifests[1].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, d := range m.Blobs {
		titles = append(titles, d.MediaType+" "+d.Annotations[ocispec.AnnotationTitle])
	}
	const prefix = "terraform-provider-rocket_1.2.3-beta1+build.5_"
	want := []string{
		"archive/zip " + prefix + "plan9_386.zip",
		"application/pgp-signature " + prefix + "plan9_386.zip.sig",
		"application/spdx+json sbom.spdx.json",
		"application/vnd.in-toto+json provenance.json",
		"text/plain+sha256sum " + prefix + "SHA256SUMS",
		"application/pgp-signature " + prefix + "SHA256SUMS.sig",
		"application/pgp-keys keys.asc",
		"application/vnd.oci.empty.v1+json ",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Errorf("wrong layers (-want +got):\n%s", diff)
	}
}

func TestPackDeduplicatesDocuments(t *testing.T) {
	t.Parallel()
	packed := pack(t, rocket(t))
	if config := blob(t, packed, ocispec.DescriptorEmptyJSON.Digest); string(config) != "{}" {
		t.Errorf("the config is %q", config)
	}
	// The config, three documents of the release, and three documents of a package.
	if len(packed.Documents) != 7 {
		t.Errorf("got %d documents, want 7", len(packed.Documents))
	}
	for _, b := range slices.Concat(packed.Manifests, []artifact.Blob{packed.Index}) {
		if got := digest.FromBytes(b.Bytes); got != b.Descriptor.Digest || int64(len(b.Bytes)) != b.Descriptor.Size {
			t.Errorf("%s does not describe its %d bytes", b.Descriptor.Digest, len(b.Bytes))
		}
	}
	got := []string{packed.Index.Descriptor.ArtifactType, packed.Manifests[0].Descriptor.ArtifactType}
	if diff := cmp.Diff([]string{artifact.TypeProvider, artifact.TypeTarget}, got); diff != "" {
		t.Errorf("wrong artifact types (-want +got):\n%s", diff)
	}
}

func TestPackMinimalRelease(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	r.Protocols, r.Documents = nil, nil
	r.Packages = r.Packages[:1]
	r.Packages[0].H1 = ""
	packed, err := artifact.Pack(r, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	index, err := artifact.ParseIndex(packed.Index.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if index.Protocols() != nil {
		t.Errorf("got protocols %q", index.Protocols())
	}
	for _, key := range []string{"protocols", "h1", "image.source"} {
		if strings.Contains(string(packed.Index.Bytes)+string(packed.Manifests[0].Bytes), key) {
			t.Errorf("%s is there", key)
		}
	}
}

func TestPackErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		edit func(*provider.Release)
		want string
	}{
		{"no packages", func(r *provider.Release) { r.Packages = nil }, ": no packages"},
		{"a size that is not known", func(r *provider.Release) { r.Packages[1].Size = -1 }, "for plan9_386: the size of terraform-provider-rocket_1.2.3-beta1+build.5_plan9_386.zip is unknown"},
		{"two packages for a platform", func(r *provider.Release) { r.Packages[1].Platform = r.Packages[0].Platform }, "more than one package for linux_riscv64"},
		{"a file name that is a path", func(r *provider.Release) { r.Packages[0].Filename = "../x.zip" }, `file name "../x.zip"`},
		{"no file name", func(r *provider.Release) { r.Packages[0].Filename = "" }, "file name is empty"},
		{"no digest", func(r *provider.Release) { r.Packages[0].Digest = "" }, `invalid digest ""`},
		{"another digest than SHA-256", func(r *provider.Release) { r.Packages[0].Digest = sha512 }, `invalid digest "sha512:`},
		{"a document's name that is a path", func(r *provider.Release) { r.Documents[0].Name = "a/b" }, `file name "a/b"`},
		{"a document that is too large", func(r *provider.Release) {
			r.Documents[2] = r.Documents[2].WithBytes(make([]byte, artifact.MaxDocumentSize+1))
		}, "keys.asc exceeds 33554432 bytes"},
		{"a package with its own SHA256SUMS in addition to the release's", func(r *provider.Release) {
			r.Packages[0].Documents = []provider.Document{artifact.NewDocument("own_SHA256SUMS", artifact.MediaTypeSums, nil)}
		}, "2 documents of type text/plain+sha256sum"},
		{"a manifest that OpenTofu would not read", func(r *provider.Release) {
			for range 1200 {
				r.Documents = append(r.Documents, artifact.NewDocument("n", strings.Repeat("x", 4000), nil))
			}
		}, "OpenTofu reads at most 4194304"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := rocket(t)
			test.edit(&r)
			packed, err := artifact.Pack(r, artifact.Options{})
			const prefix = "packing bücher.example:8443/acme/rocket 1.2.3-beta1+build.5"
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s … %s", err, prefix, test.want)
			}
			if diff := cmp.Diff(artifact.Packed{}, packed, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("unexpected result in addition to the error:\n%s", diff)
			}
		})
	}
}

func TestPackLargestDocument(t *testing.T) {
	t.Parallel()
	r := rocket(t)
	r.Documents[2] = r.Documents[2].WithBytes(make([]byte, artifact.MaxDocumentSize))
	if _, err := artifact.ParseManifest(pack(t, r).Manifests[0].Bytes); err != nil {
		t.Error(err)
	}
}

func TestKindAndScope(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mediaType, name string
		kind            provider.DocumentKind
		scope           provider.Scope
	}{
		{artifact.MediaTypeSums, "anything", provider.KindSums, provider.ScopeRelease},
		{artifact.MediaTypeKeys, "anything", provider.KindKeys, provider.ScopeRelease},
		{artifact.MediaTypeSignature, "terraform-provider-x_1.0.0_SHA256SUMS.sig", provider.KindSignature, provider.ScopeRelease},
		{artifact.MediaTypeSignature, "terraform-provider-x_1.0.0_SHA256SUMS.72D7468F.sig", provider.KindSignature, provider.ScopeRelease},
		{artifact.MediaTypeSignature, "terraform-provider-x_1.0.0_linux_amd64.zip.sig", provider.KindSignature, provider.ScopePackage},
		{artifact.MediaTypeSPDX, "x_SHA256SUMS", provider.KindSBOM, provider.ScopePackage},
		{artifact.MediaTypeCycloneDX, "x", provider.KindSBOM, provider.ScopePackage},
		{artifact.MediaTypeInToto, "x", provider.KindProvenance, provider.ScopePackage},
		{artifact.MediaTypeSigstore, "terraform-provider-x_1.0.0_SHA256SUMS.sigstore.json", provider.KindSigstore, provider.ScopeRelease},
		{artifact.MediaTypeSigstore, "terraform-provider-x_1.0.0_linux_amd64.zip.sigstore.json", provider.KindSigstore, provider.ScopePackage},
		{artifact.MediaTypeZip, "x.zip", provider.KindOther, provider.ScopePackage},
	} {
		d := artifact.NewDocument(test.name, test.mediaType, nil)
		if d.Kind != test.kind || d.Scope != test.scope {
			t.Errorf("%s %s: got %s about the %s", test.mediaType, test.name, d.Kind, d.Scope)
		}
	}
}
