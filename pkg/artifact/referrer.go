package artifact

import (
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

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

// ParseReferrer returns the descriptor of the document that the manifest of a referrer
// contains: its first layer.
func ParseReferrer(data []byte) (ocispec.Descriptor, error) {
	_, document, err := parseReferrer(data)
	return document, err
}

func parseReferrer(data []byte) (manifest ocispec.Manifest, document ocispec.Descriptor, err error) {
	if err := decode(data, &manifest); err != nil {
		return manifest, document, err
	}
	if len(manifest.Layers) == 0 {
		return manifest, document, formatError("has a referrer without a layer")
	}
	document = manifest.Layers[0]
	if err := checkDescriptor(document, MaxDocumentSize); err != nil {
		return manifest, document, formatError("has a referrer that cannot be read: %v", err)
	}
	return manifest, document, nil
}
