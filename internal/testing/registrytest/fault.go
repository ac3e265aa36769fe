package registrytest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// Take reads n bytes of the request body and then applies a second fault. If n is
// negative, it reads the whole body.
func Take(n int64, then origintest.Fault) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		if n < 0 {
			_, _ = io.Copy(io.Discard, req.Body)
		} else {
			_, _ = io.CopyN(io.Discard, req.Body, n)
		}
		then(w, req, honest)
	}
}

// After returns a fault that serves n honest responses first.
func After(n int, then origintest.Fault) origintest.Fault {
	var arrived atomic.Int64
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		if arrived.Add(1) <= int64(n) {
			honest(w, req)
			return
		}
		then(w, req, honest)
	}
}

// Unanswered executes the request and resets the connection instead of responding.
func Unanswered() origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		honest(httptest.NewRecorder(), req)
		origintest.Reset(0)(w, req, honest)
	}
}

// Lose reports that a blob was stored, but does not store it. A blob that already
// exists is kept, because manifests can refer to it.
func (r *Registry) Lose() origintest.Fault {
	return r.afterUpload(func(repository, digest string, _ http.Header) { r.blobs.delete(repository, digest) })
}

// Forget reports that a manifest was stored, but does not store it.
func Forget() origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, _ http.HandlerFunc) {
		content, _ := io.ReadAll(req.Body)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(content).String())
		w.WriteHeader(http.StatusCreated)
	}
}

// EditTags modifies the tags in a tag list, for example to omit some tags.
func EditTags(edit func(tags []string) []string) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		recorded := httptest.NewRecorder()
		honest(recorded, req)
		var list struct {
			Name string   `json:"name"`
			Tags []string `json:"tags"`
		}
		text := recorded.Body.Bytes()
		if json.Unmarshal(text, &list) == nil && list.Tags != nil {
			list.Tags = edit(list.Tags)
			text, _ = json.Marshal(list)
		}
		maps.Copy(w.Header(), recorded.Header())
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(text)
	}
}

// Misname stores a blob under a wrong digest and reports that digest. A blob that
// already exists is kept.
func (r *Registry) Misname() origintest.Fault {
	return r.afterUpload(func(repository, named string, answered http.Header) {
		other := digest.FromString(named).String()
		r.AddBlob(repository, other, nil)
		r.blobs.delete(repository, named)
		answered.Set("Docker-Content-Digest", other)
	})
}

// afterUpload calls do after an upload and before the response. If the blob already
// existed, it does not call do.
func (r *Registry) afterUpload(do func(repository, digest string, answered http.Header)) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		repository, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
		named := req.URL.Query().Get("digest")
		stored := r.HasBlob(repository, named)
		recorded := httptest.NewRecorder()
		honest(recorded, req)
		if recorded.Code == http.StatusCreated && !stored {
			do(repository, named, recorded.Header())
		}
		maps.Copy(w.Header(), recorded.Header())
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	}
}

// Elsewhere starts an upload whose Location is on a different host.
func Elsewhere(host string) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		honest(&relocated{w, host}, req)
	}
}

// relocated changes the host of a response's Location.
type relocated struct {
	http.ResponseWriter
	host string
}

func (r *relocated) WriteHeader(code int) {
	if at, err := url.Parse(r.Header().Get("Location")); err == nil && at.Path != "" {
		at.Scheme, at.Host = "https", r.host
		r.Header().Set("Location", at.String())
	}
	r.ResponseWriter.WriteHeader(code)
}
