package registrytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

const tokenPath = "/token"

// honest returns the handler without faults for a kind of request.
func (r *Registry) honest(kind Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		req = r.resolved(kind, req)
		switch {
		case kind == Token:
			r.token(w, req)
		case !r.allowed(req):
			r.challenge(w, req)
		case r.refusesName(kind, req):
			respondError(w, http.StatusNotFound, "NAME_UNKNOWN", "The repository with name 'acme' does not exist in the registry")
		case kind == ManifestPut && r.refusesTag(req):
			respondError(w, http.StatusBadRequest, "ImageTagAlreadyExistsException",
				"The image tag already exists in the repository and cannot be overwritten because the tag is immutable.")
		case kind == ManifestPut && r.movesLockedTag(req):
			r.options.LockedTags(w, req, nil)
		case kind == ManifestDelete && r.options.NoDelete != 0:
			respondError(w, r.options.NoDelete, "UNSUPPORTED", "The operation is unsupported.")
		case kind == ManifestDelete && r.options.NoUntag != 0 && !isByDigest(req):
			respondError(w, r.options.NoUntag, "UNSUPPORTED", "The operation is unsupported.")
		case kind == ManifestDelete && (r.options.DeletesManifests || isByDigest(req) && !r.options.KeepsTags):
			r.deleteManifest(w, req)
		case kind == ManifestPut && r.refusesTypes(w, req):
		case kind == ManifestPut && !r.options.Lax && !r.accepted(w, req):
		case kind == Mount:
			r.mount(w, req)
		case r.options.Resumable && (kind == UploadPost || kind == UploadPut || kind == UploadGet):
			r.upload(w, req)
		case kind == Tags:
			r.tags(w, req)
		case kind == Catalog:
			r.catalog(w, req)
		case kind == Referrers:
			r.referrers(w, req)
		case r.options.CollectsUntagged && (kind == ManifestPut || kind == ManifestDelete) && !isByDigest(req):
			r.collectUntagged(w, req)
		default:
			r.store(w, req)
		}
	}
}

// store forwards an upload to the inner registry only after the complete body has
// arrived. While the inner registry reads an upload, it blocks every other upload.
func (r *Registry) store(w http.ResponseWriter, req *http.Request) {
	content, err := io.ReadAll(req.Body)
	if err != nil {
		respondError(w, http.StatusBadRequest, "BLOB_UPLOAD_INVALID", err.Error())
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(content))
	r.inner.ServeHTTP(w, req)
}

// respondError writes an error in the format of the distribution specification.
func respondError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := json.Marshal(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
	_, _ = w.Write(text)
}

// Refuse responds with a status and an error in the registry's format.
func Refuse(status int, code, message string) origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, _ http.HandlerFunc) {
		// Read the body first. Otherwise, the connection breaks before the client reads
		// the response.
		_, _ = io.Copy(io.Discard, req.Body)
		respondError(w, status, code, message)
	}
}

// ExpireTokens invalidates all tokens before the request is handled.
func (r *Registry) ExpireTokens() origintest.Fault {
	return func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
		r.mu.Lock()
		clear(r.tokens)
		r.mu.Unlock()
		_, _ = io.Copy(io.Discard, req.Body)
		honest(w, req)
	}
}

// allowed reports whether a request has valid credentials.
func (r *Registry) allowed(req *http.Request) bool {
	if !r.options.Bearer {
		return r.login(req)
	}
	token, isBearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	r.mu.Lock()
	defer r.mu.Unlock()
	return isBearer && r.tokens[token]
}

func (r *Registry) login(req *http.Request) bool {
	if r.options.Username == "" {
		return true
	}
	user, password, _ := req.BasicAuth()
	return user == r.options.Username && password == r.options.Password
}

func (r *Registry) challenge(w http.ResponseWriter, req *http.Request) {
	challenge := cmp.Or(r.options.Challenge, `Basic realm="test"`)
	if r.options.Bearer {
		name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
		name, _, _ = strings.Cut(name, "/manifests/")
		name, _, _ = strings.Cut(name, "/tags/")
		challenge = fmt.Sprintf(`Bearer realm="https://%s%s",service="test",scope="repository:%s:pull"`, req.Host, tokenPath, name)
	}
	w.Header().Set("Www-Authenticate", challenge)
	respondError(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
}

// token handles requests to the token service.
func (r *Registry) token(w http.ResponseWriter, req *http.Request) {
	if !r.login(req) {
		respondError(w, http.StatusUnauthorized, "UNAUTHORIZED", "wrong user name or password")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.issued++
	token := fmt.Sprintf("canary-token-%d", r.issued)
	r.tokens[token] = true
	text, _ := json.Marshal(map[string]string{"token": token})
	_, _ = w.Write(text)
}

// refusesName reports whether a request would create a repository without permission.
func (r *Registry) refusesName(kind Kind, req *http.Request) bool {
	if !r.options.NoCreate || kind != UploadPost && kind != Mount && kind != ManifestPut {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.created {
		if strings.HasPrefix(req.URL.Path, "/v2/"+name+"/") {
			return false
		}
	}
	return true
}

// Create registers a repository for [Options].NoCreate.
func (r *Registry) Create(repository string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created[repository] = true
}

// Has reports whether [Registry.Create] was called for a repository.
func (r *Registry) Has(repository string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.created[repository]
}

func (r *Registry) refusesTag(req *http.Request) bool {
	if !r.options.ImmutableTags || strings.Contains(req.URL.Path, "sha256:") {
		return false
	}
	return r.ask(req, http.MethodHead, req.URL.Path).Code == http.StatusOK
}

// movesLockedTag reports whether a push would move a tag. See [Options].LockedTags.
func (r *Registry) movesLockedTag(req *http.Request) bool {
	if r.options.LockedTags == nil || isByDigest(req) {
		return false
	}
	content, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(content))
	tagged := r.ask(req, http.MethodGet, req.URL.Path)
	return tagged.Code == http.StatusOK && !bytes.Equal(tagged.Body.Bytes(), content)
}

// isByDigest reports whether a request refers to a manifest by its digest.
func isByDigest(req *http.Request) bool { return strings.Contains(req.URL.Path, "/manifests/sha256:") }

// deleteManifest deletes the manifest for a tag or digest, and all tags of the
// manifest.
func (r *Registry) deleteManifest(w http.ResponseWriter, req *http.Request) {
	repository, _, _ := strings.Cut(req.URL.Path, "/manifests/")
	found := r.ask(req, http.MethodGet, req.URL.Path)
	if found.Code != http.StatusOK {
		respondError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
		return
	}
	content := found.Body.Bytes()
	tags := r.tagsOf(req, repository, content)
	if r.options.TagsFirst && isByDigest(req) && len(tags) > 0 {
		respondError(w, http.StatusBadRequest, "GOOGLE_MANIFEST_DANGLING_TAG", "Manifest is still referenced by tag: "+tags[0])
		return
	}
	for _, reference := range append(tags, digest.FromBytes(content).String()) {
		r.ask(req, http.MethodDelete, repository+"/manifests/"+reference)
	}
	w.WriteHeader(http.StatusAccepted)
}

// tagsOf returns the tags that point to a manifest.
func (r *Registry) tagsOf(req *http.Request, repository string, content []byte) []string {
	var list struct {
		Tags []string `json:"tags"`
	}
	_ = json.Unmarshal(r.ask(req, http.MethodGet, repository+"/tags/list").Body.Bytes(), &list)
	return slices.DeleteFunc(list.Tags, func(tag string) bool {
		return !bytes.Equal(r.ask(req, http.MethodGet, repository+"/manifests/"+tag).Body.Bytes(), content)
	})
}

// collectUntagged deletes or moves a tag, and then deletes the manifest to which the tag
// pointed, unless it has other tags.
func (r *Registry) collectUntagged(w http.ResponseWriter, req *http.Request) {
	before := r.ask(req, http.MethodGet, req.URL.Path)
	r.store(w, req)
	repository, _, _ := strings.Cut(req.URL.Path, "/manifests/")
	if content := before.Body.Bytes(); before.Code == http.StatusOK && len(r.tagsOf(req, repository, content)) == 0 {
		r.ask(req, http.MethodDelete, repository+"/manifests/"+digest.FromBytes(content).String())
	}
}

// ask sends a request to the inner registry.
func (r *Registry) ask(req *http.Request, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.inner.ServeHTTP(w, httptest.NewRequestWithContext(req.Context(), method, path, nil))
	return w
}

// tags lists tags in pages. Each page contains a link to the next page.
func (r *Registry) tags(w http.ResponseWriter, req *http.Request) {
	all := r.ask(req, http.MethodGet, req.URL.Path)
	var list struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	if all.Code != http.StatusOK || json.Unmarshal(all.Body.Bytes(), &list) != nil {
		r.inner.ServeHTTP(w, req)
		return
	}
	last := req.URL.Query().Get("last")
	list.Tags = slices.DeleteFunc(list.Tags, func(tag string) bool { return tag <= last })
	if n := r.options.PageSize; n > 0 && len(list.Tags) > n {
		list.Tags = list.Tags[:n]
		query := url.Values{"last": {list.Tags[n-1]}, "n": {fmt.Sprint(n)}}
		w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, req.URL.Path, query.Encode()))
	}
	text, _ := json.Marshal(list)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
