package artifact

import (
	"cmp"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ReferrersTag returns the tag of a manifest's referrers list. In registries without
// the referrers API, clients maintain the list under this tag. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#referrers-tag-schema.
func ReferrersTag(subject digest.Digest) string {
	return subject.Algorithm().String() + "-" + subject.Encoded()
}

// ParseReferrers parses a referrers list, which is an index without an artifact type.
// For other content, it returns a *[FormatError]. Some registries interpret the tag as
// a digest and return the subject itself.
func ParseReferrers(data []byte) ([]ocispec.Descriptor, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	if doc.MediaType != ocispec.MediaTypeImageIndex || doc.ArtifactType != "" {
		return nil, formatError("expected a referrers list, got %s", describe(doc))
	}
	return doc.Manifests, nil
}

// AddReferrer returns a referrers list with the given entries appended.
func AddReferrer(list []ocispec.Descriptor, entries ...ocispec.Descriptor) (Blob, error) {
	return marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageIndex,
		Manifests: append(append([]ocispec.Descriptor{}, list...), entries...),
	}, ocispec.MediaTypeImageIndex, "")
}

// ParseReferrer returns the descriptor of a referrer's document. The document is the
// first layer of the referrer's manifest.
func ParseReferrer(data []byte) (ocispec.Descriptor, error) {
	_, document, err := parseReferrer(data)
	return document, err
}

// MayBeDocument reports whether an entry in a referrers list can be a document. See
// [MayBeDecision].
func MayBeDocument(entry ocispec.Descriptor) bool {
	return len(entry.Annotations) == 0 || isDocument(entry.ArtifactType, entry.Annotations)
}

// isDocument reports whether a manifest, or its entry in a referrers list, is a document.
// The referrers of other tools, such as signatures of the artifact, have no valid name.
func isDocument(artifactType string, annotations map[string]string) bool {
	return provider.CheckFilename(annotations[ocispec.AnnotationTitle]) == nil && !isRecord(artifactType, annotations, recordDecision)
}

// ParseDocument is like [ParseReferrer], but the descriptor has the artifact type and
// the name from the manifest. For referrers that aren't documents, it returns a
// *[FormatError].
func ParseDocument(data []byte) (ocispec.Descriptor, error) {
	manifest, document, err := parseReferrer(data)
	if err == nil && !isDocument(manifest.ArtifactType, manifest.Annotations) {
		err = formatError("not a document")
	}
	document.MediaType, document.Annotations = cmp.Or(manifest.ArtifactType, manifest.Config.MediaType), manifest.Annotations
	return document, err
}

// RefersTo reports whether a manifest has the given subject and is not a decision.
func RefersTo(data []byte, subject digest.Digest) bool {
	var manifest ocispec.Manifest
	err := decode(data, &manifest)
	return err == nil && manifest.Subject != nil && manifest.Subject.Digest == subject && !isRecord(manifest.ArtifactType, manifest.Annotations, recordDecision)
}

func parseReferrer(data []byte) (manifest ocispec.Manifest, document ocispec.Descriptor, err error) {
	if err := decode(data, &manifest); err != nil {
		return manifest, document, err
	}
	if len(manifest.Layers) == 0 {
		return manifest, document, formatError("referrer has no layer")
	}
	document = manifest.Layers[0]
	if err := checkDescriptor(document, MaxDocumentSize); err != nil {
		return manifest, document, formatError("invalid referrer layer: %v", err)
	}
	return manifest, document, nil
}

// DescribeReferrer returns the entry that registries create for a manifest in a
// referrers list. It also returns the subject of the manifest. If the manifest has no
// valid subject, both results are empty. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers.
func DescribeReferrer(data []byte) (entry ocispec.Descriptor, subject digest.Digest) {
	var manifest ocispec.Manifest
	if decode(data, &manifest) != nil || manifest.Subject == nil || manifest.Subject.Digest.Validate() != nil {
		return ocispec.Descriptor{}, ""
	}
	return ocispec.Descriptor{
		MediaType: manifest.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data)),
		ArtifactType: cmp.Or(manifest.ArtifactType, manifest.Config.MediaType), Annotations: manifest.Annotations,
	}, manifest.Subject.Digest
}
