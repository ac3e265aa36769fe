package repository_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var attestedZip = provider.Package{Filename: "terraform-provider-thing_1.2.3_haiku_riscv64.zip", Digest: digest.FromString("zip")}

func attestation(predicateType string, subject digest.Digest) provider.Document {
	content := origintest.Bundle(predicateType, subject)
	return artifact.NewDocument(artifact.AttestationName(attestedZip.Filename, digest.FromBytes(content)), artifact.MediaTypeSigstore, content)
}

// wantAttestations compares the predicate types of the attestations.
func (w *world) wantAttestations(t *testing.T, lost int, want ...string) {
	t.Helper()
	found, unreadable, err := repository.Attestations(t.Context(), w.open(), w.subject.Digest, attestedZip)
	if err != nil || len(unreadable) != lost {
		t.Errorf("got %v, %v", unreadable, err)
	}
	var got []string
	for _, d := range found {
		b, err := sigstore.Parse(d.Bytes)
		if err != nil || d.Name != artifact.AttestationName(attestedZip.Filename, d.Digest) {
			t.Errorf("%s: %v", d.Name, err)
		}
		got = append(got, b.PredicateType)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attestations (-want +got):\n%s", diff)
	}
}

// TestAttestations checks that attaching an attestation again writes nothing, and that
// bundles about other content are ignored, such as cosign's signature of the manifest.
func TestAttestations(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world) {
		w.wantAttestations(t, 0)
		of := attestation("a", attestedZip.Digest)
		for i, want := range [][]string{{of.Name}, nil} {
			got, err := repository.AttachAttestations(t.Context(), w.open(), []provider.Document{of}, w.subject)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%d: %v %s", i, err, diff)
			}
		}
		foreign := attestation("b", w.subject.Digest)
		if _, err := repository.AttachAttestations(t.Context(), w.open(), []provider.Document{foreign}, w.subject); err != nil {
			t.Fatal(err)
		}
		w.attach(t, []string{sbom(1).Name}, sbom(1))
		w.wantAttestations(t, 0, "a")
		w.wantDocuments(t, sbom(1))
	})
}

// TestMisreportedAttestations checks that attestations are found if the artifact type is
// missing or wrong, in the manifest and in the list, as in GHCR.
func TestMisreportedAttestations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
	var entries []ocispec.Descriptor
	for i, artifactType := range []string{"", "application/vnd.oci.empty.v1+json", artifact.MediaTypeSPDX} {
		packed, err := artifact.PackAttestation(attestation(fmt.Sprint(i), attestedZip.Digest), w.subject)
		if err != nil {
			t.Fatal(err)
		}
		var manifest ocispec.Manifest
		if err := json.Unmarshal(packed.Manifest.Bytes, &manifest); err != nil {
			t.Fatal(err)
		}
		manifest.ArtifactType, manifest.Config.ArtifactType, manifest.Annotations = artifactType, "", map[string]string{"dev.sigstore.bundle.predicateType": "wrong"}
		b := blobOf(t, manifest, ocispec.MediaTypeImageManifest)
		w.put(t, packed.Config, packed.Document)
		if err := w.open().PushManifest(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.Descriptor.MediaType, b.Descriptor.Size, b.Descriptor.ArtifactType = ocispec.MediaTypeImageIndex, 1, "application/vnd.docker.container.image.v1+json"
		entries = append(entries, b.Descriptor)
	}
	list, err := artifact.AddReferrer(nil, entries...)
	if err != nil {
		t.Fatal(err)
	}
	w.plant(t, list)
	found, _, err := repository.Attestations(t.Context(), w.open(), w.subject.Digest, attestedZip)
	if err != nil || len(found) != 3 {
		t.Errorf("got %d attestations, %v", len(found), err)
	}
}

// put pushes blobs.
func (w *world) put(t *testing.T, blobs ...provider.Document) {
	t.Helper()
	for _, d := range blobs {
		body, err := d.Open(t.Context())
		if err == nil {
			err = w.open().PushBlob(t.Context(), ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttestationFlood checks that too many or too large referrers cause an error
// before they are read.
func TestAttestationFlood(t *testing.T) {
	t.Parallel()
	t.Run("number", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
		var flood []provider.Document
		for i := range 101 {
			flood = append(flood, attestation(fmt.Sprint(i), attestedZip.Digest))
		}
		if _, err := repository.AttachAttestations(t.Context(), w.open(), flood, w.subject); err != nil {
			t.Fatal(err)
		}
		before := w.registry.Requests()[registrytest.ManifestGet]
		_, _, err := repository.Attestations(t.Context(), w.open(), w.subject.Digest, attestedZip)
		if err == nil || !strings.Contains(err.Error(), "101 referrers exceed the limit of 100") {
			t.Errorf("got %v", err)
		}
		if n := w.registry.Requests()[registrytest.ManifestGet] - before; n != 1 {
			t.Errorf("%d requests for manifests", n)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		packed, err := artifact.PackAttestation(attestation("a", attestedZip.Digest), w.subject)
		if err != nil {
			t.Fatal(err)
		}
		var manifest ocispec.Manifest
		if err := json.Unmarshal(packed.Manifest.Bytes, &manifest); err != nil {
			t.Fatal(err)
		}
		manifest.Layers[0].Size = sigstore.MaxSize + 1
		b := blobOf(t, manifest, ocispec.MediaTypeImageManifest)
		w.put(t, packed.Config, packed.Document)
		if err := w.open().PushManifest(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		list, err := artifact.AddReferrer(nil, b.Descriptor)
		if err != nil {
			t.Fatal(err)
		}
		w.plant(t, list)
		_, _, err = repository.Attestations(t.Context(), w.open(), w.subject.Digest, attestedZip)
		if provider.KindOf(err) != provider.Refused || !strings.Contains(err.Error(), "exceed") {
			t.Errorf("got %v", err)
		}
	})
}

// TestLostAttestation checks that a missing manifest and a missing bundle are reported.
func TestLostAttestation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &registrytest.Options{NoReferrers: http.StatusNotFound})
	one, other := attestation("a", attestedZip.Digest), attestation("b", attestedZip.Digest)
	if _, err := repository.AttachAttestations(t.Context(), w.open(), []provider.Document{one, other}, w.subject); err != nil {
		t.Fatal(err)
	}
	w.registry.Delete(t, repositoryName, one.Digest.String())
	w.wantAttestations(t, 1, "b")
	for _, d := range w.list(t) {
		w.registry.Delete(t, repositoryName, d.Digest.String())
	}
	w.wantAttestations(t, 2)
}
