package artifact

import (
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of container images that are no provider artifacts.
const (
	dockerManifest     = "application/vnd.docker.distribution.manifest.v2+json"
	dockerManifestList = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerConfig       = "application/vnd.docker.container.image.v1+json"
)

// describe says what a document is, for someone who expected something else.
func describe(doc document) string {
	isIndex := doc.MediaType == ocispec.MediaTypeImageIndex || doc.MediaType == dockerManifestList ||
		doc.MediaType == "" && doc.Manifests != nil
	isImage := doc.Config != nil && (doc.Config.MediaType == ocispec.MediaTypeImageConfig || doc.Config.MediaType == dockerConfig)
	switch {
	case doc.ArtifactType == typeModule:
		return "a module package"
	case doc.MediaType == dockerManifest, isImage && !isIndex:
		return "a container image"
	case isIndex && doc.ArtifactType == "" && hasPlatforms(doc):
		return "a multi-platform container image (an index without an artifact type)"
	case isIndex && doc.MediaType == ocispec.MediaTypeImageIndex:
		return fmt.Sprintf("an index of artifact type %q", clip(doc.ArtifactType))
	case doc.MediaType == ocispec.MediaTypeImageManifest:
		return fmt.Sprintf("an image manifest of artifact type %q", artifactTypeOf(doc))
	case doc.MediaType == "":
		return "a document without a media type"
	}
	return fmt.Sprintf("a document of media type %q", clip(doc.MediaType))
}

// artifactTypeOf falls back to the config's media type as the specification
// says.
func artifactTypeOf(doc document) string {
	if doc.ArtifactType == "" && doc.Config != nil {
		return clip(doc.Config.MediaType)
	}
	return clip(doc.ArtifactType)
}

func hasPlatforms(doc document) bool {
	for _, m := range doc.Manifests {
		if m.Platform != nil {
			return true
		}
	}
	return false
}

// clip keeps text of others short in our messages.
func clip(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
