package repository

import (
	"net/http"

	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// weighed counts manifests before they are read: of many releases at once, each may
// have manifests as large as OpenTofu reads.
type weighed struct{ next remote.Client }

// Do implements [remote.Client]. What has to wait is given up and asked for again:
// HTTP/2 would keep megabytes of it meanwhile.
func (w *weighed) Do(req *http.Request) (*http.Response, error) {
	resp, err := w.next.Do(req)
	if err != nil || req.Method != http.MethodGet || !isManifest(req) {
		return resp, err
	}
	size := resp.ContentLength
	if size < 0 {
		size = artifact.MaxManifestSize
	}
	wait := schedule.Weigh(req.Context(), size)
	if wait == nil {
		return resp, nil
	}
	_ = resp.Body.Close()
	if err := wait(); err != nil {
		return nil, err
	}
	return w.next.Do(req)
}
