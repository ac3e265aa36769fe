package registrytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// HeadQuirks lists names of quirks for [Registry.MisbehaveHead].
var HeadQuirks = []string{"no length", "length zero", "wrong length", "refused", "no digest"}

// MisbehaveHead makes all responses to HEAD requests useless, in one of the ways in
// [HeadQuirks]. Responses of proxies, such as Cloudflare's, can lack the length. With "no
// digest", responses to other requests for manifests lack the digest, too.
func (r *Registry) MisbehaveHead(quirk string) {
	kinds, fault := []Kind{BlobHead, ManifestHead}, origintest.Fault(nil)
	switch quirk {
	case "no length":
		fault = origintest.Unsized()
	case "length zero":
		fault = origintest.Rewrite("Content-Length", "0")
	case "wrong length":
		fault = origintest.Rewrite("Content-Length", "7777777")
	case "refused":
		fault = Refuse(http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported.")
	case "no digest":
		kinds, fault = []Kind{ManifestHead, ManifestGet, ManifestPut}, origintest.Rewrite("Docker-Content-Digest", "")
	}
	for _, kind := range kinds {
		r.Misbehave(kind, fault, -1)
	}
}

// Claim responds to a HEAD request for a blob as if the blob existed. It handles
// requests for other blobs as usual.
func Claim(d ocispec.Descriptor) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		if !strings.HasSuffix(req.URL.Path, "/"+d.Digest.String()) {
			honest(w, req)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(d.Size))
		w.WriteHeader(http.StatusOK)
	}
}

// ForgetChildren rejects indexes with manifests that were not pushed since it was called,
// although requests for these manifests succeed. See
// https://github.com/oras-project/oras-go/issues/1211.
func ForgetChildren() origintest.Fault {
	var mu sync.Mutex
	pushed := map[digest.Digest]bool{}
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		content, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(content))
		var index ocispec.Index
		_ = json.Unmarshal(content, &index)
		mu.Lock()
		defer mu.Unlock()
		for _, d := range index.Manifests {
			if !pushed[d.Digest] {
				text, _ := json.Marshal(map[string]any{"errors": []any{map[string]any{
					"code": "MANIFEST_BLOB_UNKNOWN", "message": "blob unknown to registry", "detail": map[string]any{"digest": d.Digest},
				}}})
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(text)
				return
			}
		}
		recorded := httptest.NewRecorder()
		honest(recorded, req)
		pushed[digest.FromBytes(content)] = recorded.Code == http.StatusCreated
		maps.Copy(w.Header(), recorded.Header())
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	}
}
