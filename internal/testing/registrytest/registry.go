// Package registrytest provides an OCI registry that runs in the test's process. It is
// based on the registry of go-containerregistry. Like distribution, it rejects
// manifests that refer to missing content. It counts requests, and can inject faults
// into a given number of requests.
package registrytest

import (
	"io"
	"log"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// Kind is a kind of request.
type Kind string

// The kinds of requests that a registry serves.
const (
	ManifestGet  Kind = "manifest GET"
	ManifestHead Kind = "manifest HEAD"
	ManifestPut  Kind = "manifest PUT"
	// ManifestDelete deletes a tag, or a manifest together with all its tags.
	ManifestDelete Kind = "manifest DELETE"
	BlobGet        Kind = "blob GET"
	BlobHead       Kind = "blob HEAD"
	UploadPost     Kind = "upload POST"
	UploadPut      Kind = "upload PUT"
	// UploadGet requests the number of bytes received so far.
	UploadGet Kind = "upload GET"
	// Mount requests a blob from a different repository. If the registry cannot mount
	// the blob, an upload follows.
	Mount Kind = "mount POST"
	Tags  Kind = "tags"
	// Catalog lists the repositories.
	Catalog   Kind = "catalog"
	Referrers Kind = "referrers"
	Token     Kind = "token"
	Other     Kind = "other"
)

// Kinds lists all kinds except [Token].
var Kinds = []Kind{
	ManifestGet, ManifestHead, ManifestPut, ManifestDelete, BlobGet, BlobHead, UploadPost, UploadPut, UploadGet, Mount, Tags, Catalog, Referrers, Other,
}

// Options configures a registry. The zero value allows all requests without
// credentials.
type Options struct {
	// Username and Password, if not empty, are required. If Bearer is set, the token
	// service requires them. Otherwise, the registry itself requires them.
	Username, Password string
	// Bearer requires tokens from the registry's token service.
	Bearer bool
	// Challenge is the WWW-Authenticate header of responses to requests without
	// credentials. If empty, a common challenge is used.
	Challenge string
	// ImmutableTags rejects pushes to existing tags. ECR can be configured to do this.
	ImmutableTags bool
	// LockedTags, if not nil, responds to pushes that would move a tag.
	LockedTags origintest.Fault
	// PageSize is the number of tags or repositories on a page. If 0, a page lists all
	// of them.
	PageSize int
	// NoCreate rejects pushes to repositories for which the test did not call
	// [Registry.Create].
	NoCreate bool
	// NoReferrers is the status of responses to the referrers API. It simulates a
	// registry without this API: distribution responds with 404, Artifactory with 406,
	// Harbor 2.7 with 401 without a challenge, and some proxies with 200 and a web page.
	// If 0, the API is available.
	NoReferrers int
	// NoCatalog is the status of responses to the catalog API: 401, 404, or 405. Most
	// multi-tenant registries disable this API. If 0, the API is available.
	NoCatalog int
	// TagsAreDigests resolves a tag "sha256-HEX" to the manifest with this digest. A
	// push to the tag replaces that manifest. GitLab behaves like this. See
	// https://github.com/oras-project/oras-go/issues/1396.
	TagsAreDigests bool
	// Types, if not nil, lists the media types that the registry accepts.
	Types *Types
	// Lax accepts manifests that refer to missing content, as some registries do.
	Lax bool
	// NoDelete is the status of responses to deletions: 405 or 400. It simulates a
	// registry that does not support deletions. If 0, tags and manifests can be
	// deleted.
	NoDelete int
	// NoUntag is the status of responses to deletions of tags: 405 or 400. It simulates a
	// registry that deletes manifests only by digest. If 0, tags can be deleted.
	NoUntag int
	// CollectsUntagged deletes a manifest when its last tag is deleted or moved. Manifests
	// that never had a tag are kept.
	CollectsUntagged bool
	// DeletesManifests deletes a manifest and all its tags when one of its tags is
	// deleted.
	DeletesManifests bool
	// KeepsTags keeps a manifest's tags when the manifest is deleted by its digest. The
	// tags still point to the manifest, so it still exists for clients that use a tag.
	KeepsTags bool
	// TagsFirst rejects the deletion of a manifest that has tags, as Google's
	// registries do.
	TagsFirst bool
	// KeepsBlobs discards an upload's content if the blob already exists, even if the
	// existing blob is corrupt. Distribution behaves in the same way.
	KeepsBlobs bool
	// NoMount rejects mounts, so every blob must be uploaded.
	NoMount bool
	// Resumable keeps the received bytes of an interrupted upload and reports their
	// number, as distribution does.
	Resumable bool
}

// Registry is an http.Handler. It is safe for concurrent use.
type Registry struct {
	options Options
	inner   http.Handler
	blobs   *blobs
	uploads *uploads

	mu         sync.Mutex
	created    map[string]bool
	tokens     map[string]bool
	issued     int
	requests   map[Kind]int
	authorized map[Kind]int
	encodings  map[string]int
	faults     map[Kind][]*planned
}

// planned is a fault for the next requests. If the number of requests is negative, the
// fault is permanent.
type planned struct {
	fault origintest.Fault
	times int
}

// New returns an empty registry.
func New(o Options) *Registry {
	stored := &blobs{keeps: o.KeepsBlobs, content: map[string][]byte{}}
	return &Registry{
		options: o, blobs: stored, uploads: &uploads{arrived: map[string][]byte{}},
		inner: registry.New(
			registry.Logger(log.New(io.Discard, "", 0)), //nolint:forbidigo // this is the only way to disable logging
			registry.WithReferrersSupport(true), registry.WithBlobHandler(stored)),
		created: map[string]bool{}, tokens: map[string]bool{},
		requests: map[Kind]int{}, authorized: map[Kind]int{}, encodings: map[string]int{},
		faults: map[Kind][]*planned{},
	}
}

// ServeHTTP counts the request and injects faults.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	kind := kindOf(req)
	if fault := r.arrived(kind, req); fault != nil {
		fault(w, req, r.honest(kind))
		return
	}
	r.honest(kind)(w, req)
}

// Requests returns the number of requests of each kind so far. It includes rejected
// requests and requests with faults.
func (r *Registry) Requests() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.requests)
}

// Writes returns the number of requests that can change the registry.
func (r *Registry) Writes() int {
	n := r.Requests()
	return n[ManifestPut] + n[ManifestDelete] + n[UploadPost] + n[UploadPut] + n[Mount]
}

// Authorized returns the number of requests of each kind that contained an
// Authorization header.
func (r *Registry) Authorized() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.authorized)
}

// Encodings returns the number of requests with each Accept-Encoding header.
func (r *Registry) Encodings() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.encodings)
}

// Misbehave injects a fault into the next requests of a kind. If times is negative, it
// injects the fault into all requests. Faults of a kind occur in the order in which
// they were added.
func (r *Registry) Misbehave(kind Kind, fault origintest.Fault, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[kind] = append(r.faults[kind], &planned{fault, times})
}

// Behave removes all faults.
func (r *Registry) Behave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.faults)
}

func (r *Registry) arrived(kind Kind, req *http.Request) origintest.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[kind]++
	r.encodings[req.Header.Get("Accept-Encoding")]++
	if req.Header.Get("Authorization") != "" {
		r.authorized[kind]++
	}
	for _, p := range r.faults[kind] {
		if p.times != 0 {
			p.times--
			return p.fault
		}
	}
	return nil
}

// kindOf returns the kind of a request, based on its method and path.
func kindOf(req *http.Request) Kind {
	if req.URL.Path == tokenPath {
		return Token
	}
	put := func(yes, no Kind) Kind {
		if req.Method == http.MethodPut {
			return yes
		}
		return no
	}
	if req.URL.Path == catalogPath {
		return Catalog
	}
	elements := strings.Split(strings.TrimSuffix(req.URL.Path, "/"), "/")
	if len(elements) < 4 {
		return Other
	}
	parent, last := elements[len(elements)-2], elements[len(elements)-1]
	head := req.Method == http.MethodHead
	switch {
	case parent == "manifests" && req.Method == http.MethodDelete:
		return ManifestDelete
	case parent == "manifests" && head:
		return ManifestHead
	case parent == "manifests":
		return put(ManifestPut, ManifestGet)
	case parent == "tags":
		return Tags
	case parent == "referrers":
		return Referrers
	case last == "uploads" && req.URL.Query().Has("mount"):
		return Mount
	case parent == "uploads" && req.Method == http.MethodGet:
		return UploadGet
	case parent == "uploads", parent == "blobs" && last == "uploads":
		return put(UploadPut, UploadPost)
	case parent == "blobs" && head:
		return BlobHead
	case parent == "blobs":
		return BlobGet
	}
	return Other
}
