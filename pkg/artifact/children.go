package artifact

import (
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Children lists what a manifest or index of any kind names: manifests, and
// blobs, the config among them. What can't be asked for by a SHA-256 digest is a
// *[FormatError], as without it nothing is whole.
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
			return nil, nil, formatError("names something that cannot be read: %v", err)
		}
	}
	return doc.Manifests, blobs, nil
}
