package registrytest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// referrers lists a manifest's referrers. The inner registry can list referrers, but
// its artifact types do not follow the specification. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers.
func (r *Registry) referrers(w http.ResponseWriter, req *http.Request) {
	switch r.options.NoReferrers {
	case 0:
	case http.StatusOK:
		origintest.HTML("Artifacts")(w, req, nil)
		return
	default:
		respondError(w, r.options.NoReferrers, "", "page not found")
		return
	}
	found := r.ask(req, http.MethodGet, req.URL.Path)
	var list ocispec.Index
	if found.Code != http.StatusOK || json.Unmarshal(found.Body.Bytes(), &list) != nil {
		r.inner.ServeHTTP(w, req)
		return
	}
	repository, _, _ := strings.Cut(req.URL.Path, "/referrers/")
	for i, d := range list.Manifests {
		var manifest ocispec.Manifest
		stored := r.ask(req, http.MethodGet, repository+"/manifests/"+d.Digest.String())
		if json.Unmarshal(stored.Body.Bytes(), &manifest) == nil && manifest.ArtifactType != "" {
			list.Manifests[i].ArtifactType = manifest.ArtifactType
		}
	}
	text, _ := json.Marshal(list)
	w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
	_, _ = w.Write(text)
}

// referrersTag matches the path of a tag in the referrers tag schema.
var referrersTag = regexp.MustCompile(`/manifests/sha256-([0-9a-f]{64})$`)

// resolved returns the request with its tag replaced with a digest. See
// [Options].TagsAreDigests.
func (r *Registry) resolved(kind Kind, req *http.Request) *http.Request {
	if !r.options.TagsAreDigests {
		return req
	}
	path := referrersTag.ReplaceAllString(req.URL.Path, "/manifests/sha256:$1")
	if path == req.URL.Path || r.ask(req, http.MethodHead, path).Code != http.StatusOK {
		return req
	}
	if kind == ManifestPut {
		r.ask(req, http.MethodDelete, path)
		return req
	}
	meant := req.Clone(req.Context())
	meant.URL.Path = path
	return meant
}
