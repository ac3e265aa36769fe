package artifact

import (
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Children returns the descriptors of the manifests and blobs that a manifest or index
// of any kind refers to. The blobs include the config. If a descriptor has no SHA-256
// digest, its content can't be verified, so the error is a *[FormatError].
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
