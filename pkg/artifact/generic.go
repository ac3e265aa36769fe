package artifact

import (
	"maps"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// typeBytes is the media type of documents in a generic manifest.
	typeBytes = "application/octet-stream"
	// annotationType annotates a layer of a generic manifest with its own media type.
	annotationType = annotationPrefix + "type"
)

// uncommonTypes are media types that registries with a list of allowed types refuse.
var uncommonTypes = []string{MediaTypeSums, MediaTypeSignature, MediaTypeKeys}

// Generic converts a manifest for registries that refuse the media types of m. The
// config gets the type of an image's config. The layers with checksums, signatures, and
// keys get the type application/octet-stream. Their annotations contain the types that
// they have in m. OpenTofu installs packages from both manifests.
func Generic(m Blob) (Blob, error) {
	var manifest ocispec.Manifest
	if err := decode(m.Bytes, &manifest); err != nil {
		return Blob{}, err
	}
	manifest.Config = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: manifest.Config.Digest, Size: manifest.Config.Size}
	for i, layer := range manifest.Layers {
		if slices.Contains(uncommonTypes, layer.MediaType) {
			annotations := map[string]string{annotationType: layer.MediaType}
			maps.Copy(annotations, layer.Annotations)
			manifest.Layers[i].MediaType, manifest.Layers[i].Annotations = typeBytes, annotations
		}
	}
	return marshal(manifest, manifest.MediaType, manifest.ArtifactType)
}

// ownType returns a layer with the media type that it had before [Generic].
func ownType(layer ocispec.Descriptor) ocispec.Descriptor {
	if own := layer.Annotations[annotationType]; layer.MediaType == typeBytes && slices.Contains(uncommonTypes, own) {
		layer.MediaType = own
	}
	return layer
}
