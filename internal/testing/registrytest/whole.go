package registrytest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// accepted reports whether a repository contains the config, layers, and manifests to
// which a pushed manifest refers. If content is missing, accepted responds like
// distribution 3. A subject can be missing. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-manifests-with-subject.
func (r *Registry) accepted(w http.ResponseWriter, req *http.Request) bool {
	content, err := io.ReadAll(req.Body)
	if err != nil {
		respondError(w, http.StatusBadRequest, "MANIFEST_INVALID", err.Error())
		return false
	}
	req.Body = io.NopCloser(bytes.NewReader(content))
	var named struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if json.Unmarshal(content, &named) != nil {
		return true // the inner registry handles the error
	}
	if named.Config != nil {
		named.Layers = append(named.Layers, *named.Config)
	}
	path, _, _ := strings.Cut(req.URL.Path, "/manifests/")
	repository := strings.TrimPrefix(path, "/v2/")
	for _, d := range named.Layers {
		if !r.HasBlob(repository, d.Digest.String()) {
			return refuseUnknown(w, d)
		}
	}
	for _, d := range named.Manifests {
		if r.ask(req, http.MethodHead, path+"/manifests/"+d.Digest.String()).Code != http.StatusOK {
			return refuseUnknown(w, d)
		}
	}
	return true
}

// refuseUnknown rejects a manifest that refers to missing content.
func refuseUnknown(w http.ResponseWriter, d ocispec.Descriptor) (accepted bool) {
	respondError(w, http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry: "+d.Digest.String())
	return false
}
