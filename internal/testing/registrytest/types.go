package registrytest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Types lists the media types that a registry accepts in image manifests. A nil list
// accepts all types.
type Types struct {
	Configs, Artifacts, Layers []string
}

// gitLab contains the types of GitLab's list that tofu-oci uses. See
// https://gitlab.com/gitlab-org/container-registry/-/blob/master/docs/supported-media-types.md.
var gitLab = []string{
	ocispec.MediaTypeImageConfig, ocispec.MediaTypeEmptyJSON, "application/json", "application/octet-stream", "application/vnd.opentofu.provider",
	"application/vnd.opentofu.provider-target", "application/vnd.opentofu.modulepkg", "application/spdx+json", "application/vnd.cyclonedx+json",
	"application/vnd.in-toto+json", "application/vnd.dev.sigstore.bundle.v0.3+json",
}

var (
	// GitLabTypes are the types that GitLab's registry accepts.
	GitLabTypes = &Types{Configs: gitLab, Artifacts: gitLab}
	// StrictTypes also limits the types of layers.
	StrictTypes = &Types{Configs: gitLab, Artifacts: gitLab, Layers: append([]string{"archive/zip"}, gitLab...)}
	// ImageTypes accepts only the type of an image's config, as distribution does with the
	// policy class image.
	ImageTypes = &Types{Configs: []string{ocispec.MediaTypeImageConfig}}
	// QuayTypes are the types that Quay accepts unless IGNORE_UNKNOWN_MEDIATYPES is set.
	QuayTypes = &Types{
		Configs: []string{ocispec.MediaTypeImageConfig, "application/vnd.cncf.helm.config.v1+json"},
		Layers:  []string{ocispec.MediaTypeImageLayerGzip, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"},
	}
)

// refusesTypes reports whether the registry rejects the media types of a pushed manifest,
// and responds in this case.
func (r *Registry) refusesTypes(w http.ResponseWriter, req *http.Request) bool {
	if r.options.Types == nil {
		return false
	}
	content, err := io.ReadAll(req.Body)
	if err != nil {
		respondError(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return true
	}
	req.Body = io.NopCloser(bytes.NewReader(content))
	var m ocispec.Manifest
	if json.Unmarshal(content, &m) != nil || m.MediaType != ocispec.MediaTypeImageManifest {
		return false
	}
	refuses := func(allowed []string, mediaType string) bool {
		refused := allowed != nil && mediaType != "" && !slices.Contains(allowed, mediaType)
		if refused {
			respondError(w, http.StatusBadRequest, "MANIFEST_INVALID", "unknown media type: "+mediaType)
		}
		return refused
	}
	if refuses(r.options.Types.Configs, m.Config.MediaType) || refuses(r.options.Types.Artifacts, m.ArtifactType) {
		return true
	}
	return slices.ContainsFunc(m.Layers, func(d ocispec.Descriptor) bool { return refuses(r.options.Types.Layers, d.MediaType) })
}
