package artifact

import (
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of container images.
const (
	dockerManifest     = "application/vnd.docker.distribution.manifest.v2+json"
	dockerManifestList = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig       = "application/vnd.docker.container.image.v1+json"
)

// describe describes a document in errors about unexpected content.
func describe(doc document) string {
	isIndex := doc.MediaType == ocispec.MediaTypeImageIndex || doc.MediaType == dockerManifestList ||
		doc.MediaType == "" && doc.Manifests != nil
	isImage := doc.Config != nil && (doc.Config.MediaType == ocispec.MediaTypeImageConfig || doc.Config.MediaType == dockerConfig)
	switch {
	case doc.ArtifactType == TypeModule:
		return "a module package"
	case doc.MediaType == dockerManifest, isImage && !isIndex:
		return "a container image"
	case isIndex && doc.ArtifactType == "" && hasPlatforms(doc):
		return "a multi-platform container image (an index without an artifact type)"
	case isIndex && doc.MediaType == ocispec.MediaTypeImageIndex:
		return fmt.Sprintf("an index of artifact type %q", clip(doc.ArtifactType))
	case doc.MediaType == ocispec.MediaTypeImageManifest:
		return fmt.Sprintf("an image manifest of artifact type %q", clip(artifactTypeOf(doc)))
	case doc.MediaType == "":
		return "a document without a media type"
	}
	return fmt.Sprintf("a document of media type %q", clip(doc.MediaType))
}

// artifactTypeOf returns the artifact type. If the artifact type is missing, it returns
// the media type of the config, as image-spec requires.
func artifactTypeOf(doc document) string {
	if doc.ArtifactType == "" && doc.Config != nil {
		return doc.Config.MediaType
	}
	return doc.ArtifactType
}

func hasPlatforms(doc document) bool {
	for _, m := range doc.Manifests {
		if m.Platform != nil {
			return true
		}
	}
	return false
}
