package artifact

import (
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Referrer is a document that covers all platforms of a release: a manifest of
// its own with the release's index as subject.
type Referrer struct {
	// Manifest names Config and Document; push those first.
	Manifest Blob
	Config   Blob
	Document provider.Document
	// Entry describes the manifest in a list of referrers.
	Entry ocispec.Descriptor
}

// PackReferrer builds the manifest of a document about the index. Equal input
// gives equal bytes, so that nothing is attached twice.
func PackReferrer(document provider.Document, index ocispec.Descriptor) (Referrer, error) {
	if err := checkDocument(document); err != nil {
		return Referrer{}, err
	}
	annotations := map[string]string{ocispec.AnnotationTitle: document.Name}
	manifest, err := marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: document.MediaType,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers: []ocispec.Descriptor{{
			MediaType: document.MediaType, Digest: document.Digest, Size: document.Size, Annotations: annotations,
		}},
		Subject:     &ocispec.Descriptor{MediaType: index.MediaType, Digest: index.Digest, Size: index.Size},
		Annotations: annotations,
	}, ocispec.MediaTypeImageManifest, document.MediaType)
	if err != nil {
		return Referrer{}, err
	}
	entry := manifest.Descriptor
	entry.Annotations = annotations
	return Referrer{Manifest: manifest, Config: emptyConfig(), Document: document, Entry: entry}, nil
}

// ReferrersTag is the tag under which a repository without the referrers API
// keeps the list of what refers to a manifest.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#referrers-tag-schema
func ReferrersTag(subject digest.Digest) string {
	return subject.Algorithm().String() + "-" + subject.Encoded()
}

// ParseReferrers reads a list of referrers: an index without an artifact type.
// Something else under the tag, such as the subject itself in registries that
// resolve such tags as digests, is a *[FormatError].
func ParseReferrers(data []byte) ([]ocispec.Descriptor, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	if doc.MediaType != ocispec.MediaTypeImageIndex || doc.ArtifactType != "" {
		return nil, formatError("is %s where a list of referrers must be", describe(doc))
	}
	return doc.Manifests, nil
}

// AddReferrer makes the list with more entries.
func AddReferrer(list []ocispec.Descriptor, entries ...ocispec.Descriptor) (Blob, error) {
	return marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageIndex,
		Manifests: append(append([]ocispec.Descriptor{}, list...), entries...),
	}, ocispec.MediaTypeImageIndex, "")
}

// ParseReferrer reads the manifest of a referrer: its first layer is the
// document.
func ParseReferrer(data []byte) (ocispec.Descriptor, error) {
	var manifest ocispec.Manifest
	if err := decode(data, &manifest); err != nil {
		return ocispec.Descriptor{}, err
	}
	if len(manifest.Layers) == 0 {
		return ocispec.Descriptor{}, formatError("has a referrer without a layer")
	}
	layer := manifest.Layers[0]
	if err := checkDescriptor(layer, MaxDocumentSize); err != nil {
		return ocispec.Descriptor{}, formatError("has a referrer that cannot be read: %v", err)
	}
	return layer, nil
}
