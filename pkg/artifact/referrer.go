package artifact

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Referrer is a document that covers all platforms of a release: a manifest of
// its own with the release's index as subject.
type Referrer struct {
	// Manifest names Blobs; push those first.
	Manifest Blob
	Blobs    []Blob
	// Entry describes the manifest in a list of referrers.
	Entry ocispec.Descriptor
}

// PackReferrer builds the manifest of a document about the index. Equal input
// gives equal bytes, so that nothing is attached twice.
func PackReferrer(a provider.Attachment, index ocispec.Descriptor) (Referrer, error) {
	if err := provider.CheckFilename(a.Name); err != nil {
		return Referrer{}, err
	}
	layer := ocispec.Descriptor{MediaType: a.MediaType, Digest: digest.FromBytes(a.Bytes), Size: int64(len(a.Bytes))}
	document := Blob{layer, a.Bytes}
	layer.Annotations = map[string]string{ocispec.AnnotationTitle: a.Name}
	annotations := map[string]string{ocispec.AnnotationTitle: a.Name}
	manifest, err := marshal(ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: a.MediaType,
		Config:       ocispec.DescriptorEmptyJSON,
		Layers:       []ocispec.Descriptor{layer},
		Subject:      &ocispec.Descriptor{MediaType: index.MediaType, Digest: index.Digest, Size: index.Size},
		Annotations:  annotations,
	}, ocispec.MediaTypeImageManifest, a.MediaType)
	if err != nil {
		return Referrer{}, err
	}
	entry := manifest.Descriptor
	entry.Annotations = annotations
	empty := Blob{ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data}
	return Referrer{Manifest: manifest, Blobs: []Blob{empty, document}, Entry: entry}, nil
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
	if err := json.Unmarshal(data, &manifest); err != nil {
		return ocispec.Descriptor{}, formatError("has a referrer that is not valid JSON: %v", err)
	}
	if len(manifest.Layers) == 0 {
		return ocispec.Descriptor{}, formatError("has a referrer without a layer")
	}
	layer := manifest.Layers[0]
	if err := checkDescriptor(layer, MaxAttachmentSize); err != nil {
		return ocispec.Descriptor{}, formatError("has a referrer that cannot be read: %v", err)
	}
	return layer, nil
}
