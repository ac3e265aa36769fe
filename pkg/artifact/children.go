package artifact

import (
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Children returns the descriptors in a manifest or index of any kind: manifests, and blobs,
// including the config. A descriptor without a SHA-256 digest is a *[FormatError], because content
// without one can't be verified.
func Children(data []byte) (manifests, blobs []ocispec.Descriptor, err error) {
	doc, err := parseDocument(data)
	if err != nil {
		return nil, nil, err
	}
	blobs = slices.Clone(doc.Layers)
	if doc.Config != nil {
		blobs = append(blobs, *doc.Config)
	}
	for _, d := range slices.Concat(doc.Manifests, blobs) {
		if err := checkDescriptor(d, MaxZipSize); err != nil {
			return nil, nil, formatError("invalid descriptor: %v", err)
		}
	}
	return doc.Manifests, blobs, nil
}
