package registrytest

import (
	"net/http"
	"strings"
)

// mount mounts a blob from a different repository, or starts an upload if mounting
// fails. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#mounting-a-blob-from-another-repository.
func (r *Registry) mount(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	into, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
	wanted := query.Get("mount")
	if r.options.NoMount || !r.blobs.mount(query.Get("from"), into, wanted) {
		upload := req.Clone(req.Context())
		upload.URL.RawQuery = ""
		r.inner.ServeHTTP(w, upload)
		return
	}
	w.Header().Set("Location", "/v2/"+into+"/blobs/"+wanted)
	w.Header().Set("Docker-Content-Digest", wanted)
	w.WriteHeader(http.StatusCreated)
}
