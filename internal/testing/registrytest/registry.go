// Package registrytest is an OCI registry in the test's own process, made of
// go-containerregistry's. It is as strict as distribution about manifests that
// name what it lacks, counts what it is asked for, and can misbehave, by name and
// as often as asked.
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

// The kinds of requests that a registry answers.
const (
	ManifestGet  Kind = "manifest GET"
	ManifestHead Kind = "manifest HEAD"
	ManifestPut  Kind = "manifest PUT"
	// ManifestDelete asks for a tag to be removed, or for a manifest with all its tags.
	ManifestDelete Kind = "manifest DELETE"
	BlobGet        Kind = "blob GET"
	BlobHead       Kind = "blob HEAD"
	UploadPost     Kind = "upload POST"
	UploadPut      Kind = "upload PUT"
	// UploadGet asks how much of an upload has arrived.
	UploadGet Kind = "upload GET"
	// Mount asks for a blob of another repository; an upload follows where the
	// registry has none to give.
	Mount Kind = "mount POST"
	Tags  Kind = "tags"
	// Catalog lists the repositories.
	Catalog   Kind = "catalog"
	Referrers Kind = "referrers"
	Token     Kind = "token"
	Other     Kind = "other"
)

// Kinds are all but [Token].
var Kinds = []Kind{
	ManifestGet, ManifestHead, ManifestPut, ManifestDelete, BlobGet, BlobHead, UploadPost, UploadPut, UploadGet, Mount, Tags, Catalog, Referrers, Other,
}

// Options say what a registry is like; the zero value lets everybody do all.
type Options struct {
	// Username and Password are demanded when they are not empty: by the
	// registry itself, or by its token service when Bearer is set.
	Username, Password string
	// Bearer demands tokens of the registry's own token service.
	Bearer bool
	// ImmutableTags refuses every second push of a tag, as ECR can.
	ImmutableTags bool
	// PageSize is how many tags, or repositories, are on a page; 0 means all.
	PageSize int
	// NoCreate refuses to push into repositories other than those that the
	// test made by [Registry.Create].
	NoCreate bool
	// NoReferrers is the status with which the referrers API is refused, as
	// registries do that have none: 404, 405 or 400. 0 means that there is one.
	NoReferrers int
	// NoCatalog is the status with which the list of repositories is refused, as most
	// registries do that serve several customers: 401, 404 or 405. 0 means that there
	// is one.
	NoCatalog int
	// TagsAreDigests takes a tag "sha256-HEX" for that digest where there is such
	// a manifest, and lets a push to the tag replace it, as GitLab does:
	// https://github.com/oras-project/oras-go/issues/1396
	TagsAreDigests bool
	// Lax takes manifests that name what it lacks, as some registries do.
	Lax bool
	// NoDelete is the status with which deletions are refused, as registries do that
	// have none: 405 or 400. 0 means that tags and manifests can be deleted.
	NoDelete int
	// DeletesManifests lets the manifest go with the first of its tags that is
	// deleted, and all its other tags with it.
	DeletesManifests bool
	// KeepsBlobs takes the content of a blob that is there already, and keeps its own,
	// damaged or not, as distribution does.
	KeepsBlobs bool
	// NoMount lets every blob be uploaded, as registries do that do not take them
	// over from their other repositories.
	NoMount bool
	// Resumable keeps what comes of an upload that breaks off, and tells how much
	// that is, as distribution does.
	Resumable bool
}

// Registry is an http.Handler, safe for concurrent use.
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

// planned is a fault and how often it is still due; negative means always.
type planned struct {
	fault origintest.Fault
	times int
}

// New makes an empty registry.
func New(o Options) *Registry {
	stored := &blobs{keeps: o.KeepsBlobs, content: map[string][]byte{}}
	return &Registry{
		options: o, blobs: stored, uploads: &uploads{arrived: map[string][]byte{}},
		inner: registry.New(
			registry.Logger(log.New(io.Discard, "", 0)), //nolint:forbidigo // the way to keep it silent
			registry.WithReferrersSupport(true), registry.WithBlobHandler(stored)),
		created: map[string]bool{}, tokens: map[string]bool{},
		requests: map[Kind]int{}, authorized: map[Kind]int{}, encodings: map[string]int{},
		faults: map[Kind][]*planned{},
	}
}

// ServeHTTP counts a request and lets it meet its fault.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	kind := kindOf(req)
	if fault := r.arrived(kind, req); fault != nil {
		fault(w, req, r.honest(kind))
		return
	}
	r.honest(kind)(w, req)
}

// Requests tells how many requests of each kind came so far, those that met a
// fault or were refused included.
func (r *Registry) Requests() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.requests)
}

// Writes counts the requests that could have changed something.
func (r *Registry) Writes() int {
	n := r.Requests()
	return n[ManifestPut] + n[ManifestDelete] + n[UploadPost] + n[UploadPut] + n[Mount]
}

// Authorized tells how many requests of each kind bore an Authorization header.
func (r *Registry) Authorized() map[Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.authorized)
}

// Encodings tells which Accept-Encoding headers came, and how often.
func (r *Registry) Encodings() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.encodings)
}

// Misbehave makes the next requests of a kind meet a fault; negative times mean
// all of them. Faults of a kind are met in the order in which they were set.
func (r *Registry) Misbehave(kind Kind, fault origintest.Fault, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[kind] = append(r.faults[kind], &planned{fault, times})
}

// Behave takes all faults back.
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

// kindOf tells what a request is about by its method and path.
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
