package artifact

import (
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Annotations of referrers that contain Sigstore bundles, as written by cosign 3.
const (
	annotationBundleContent       = "dev.sigstore.bundle.content"
	annotationBundlePredicateType = "dev.sigstore.bundle.predicateType"
)

// AttestationName returns the file name for a Sigstore bundle about a zip. The
// manifests of such bundles contain no names.
func AttestationName(zip string, bundle digest.Digest) string {
	return fmt.Sprintf("%s.%.12s.sigstore.json", zip, bundle.Encoded())
}

// PackAttestation builds a referrer for a Sigstore bundle about a package. subject is
// the manifest of the package's platform. The referrer has the format of cosign 3,
// without a date, so equal input results in identical bytes. The document's content
// must be in memory.
func PackAttestation(document provider.Document, subject ocispec.Descriptor) (Referrer, error) {
	bundle, err := sigstore.Parse(document.Bytes)
	if err == nil {
		err = checkDocument(document)
	}
	if err != nil {
		return Referrer{}, err
	}
	annotations := map[string]string{annotationBundleContent: bundle.Content}
	if bundle.PredicateType != "" {
		annotations[annotationBundlePredicateType] = bundle.PredicateType
	}
	config := ocispec.DescriptorEmptyJSON
	config.Data, config.ArtifactType = nil, document.MediaType
	layer := ocispec.Descriptor{MediaType: document.MediaType, Digest: document.Digest, Size: document.Size}
	return packReferrer(document, subject, config, []ocispec.Descriptor{layer}, annotations)
}
