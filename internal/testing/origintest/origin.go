// Package origintest provides a small origin registry for tests and demonstrations. It
// implements the provider registry protocol, and can inject faults into a given number
// of requests.
//
// See https://opentofu.org/docs/internals/provider-registry-protocol/.
package origintest

import (
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Kind is a kind of request.
type Kind string

// The kinds of requests that an origin registry serves, in the same order as during an
// installation.
const (
	Discovery Kind = "discovery"
	Versions  Kind = "versions"
	Package   Kind = "package"
	Sums      Kind = "sums"
	Signature Kind = "signature"
	Zip       Kind = "zip"
)

// Kinds lists all kinds of requests.
var Kinds = []Kind{Discovery, Versions, Package, Sums, Signature, Zip}

const (
	discoveryPath = "/.well-known/terraform.json"
	defaultPrefix = "/v1/providers/"
	filesPath     = "/files/"
)

// Options configures an origin registry. By default, the registry has no access control
// and provides all optional data.
type Options struct {
	// Prefix is the provider registry's path, with a slash at both ends. If empty,
	// "/v1/providers/" is used.
	Prefix string
	// Service is the value of providers.v1 in the discovery document. If empty, Prefix
	// is used.
	Service string
	// RelativeURLs makes package documents refer to files by their paths, without a
	// host.
	RelativeURLs bool
	// FilesBase is the base URL of files, such as "https://host:port". The host can be
	// a second server that serves the same Origin. If empty, the request's host is
	// used.
	FilesBase string
	// NoPackages omits the "packages" block, which contains the hashes and sizes of all
	// platforms. Only registry.opentofu.org has this block.
	NoPackages bool
	// ETags adds an ETag to zips, so that clients can resume a download.
	ETags bool
	// Token is the bearer token that requests for versions and packages require.
	Token string
}

// Origin is the registry. It is an http.Handler and safe for concurrent use.
type Origin struct {
	options Options
	mux     *http.ServeMux

	mu         sync.Mutex
	releases   []*release
	modules    []Module
	requests   map[Kind]int
	authorized map[Kind]int
	faults     map[Kind][]*planned
}

// planned is a fault for the next requests. If the number of requests is negative, the
// fault is permanent.
type planned struct {
	fault Fault
	times int
}

// New returns an origin registry without releases.
func New(o Options) *Origin {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	if o.Service == "" {
		o.Service = o.Prefix
	}
	origin := &Origin{
		options: o, mux: http.NewServeMux(),
		requests: map[Kind]int{}, authorized: map[Kind]int{}, faults: map[Kind][]*planned{},
	}
	origin.mux.HandleFunc("GET "+discoveryPath, origin.kind(Discovery, origin.discovery))
	origin.mux.HandleFunc("GET "+o.Prefix+"{namespace}/{type}/versions", origin.kind(Versions, origin.versions))
	origin.mux.HandleFunc("GET "+o.Prefix+"{namespace}/{type}/{version}/download/{os}/{arch}",
		origin.kind(Package, origin.packageDocument))
	origin.mux.HandleFunc("GET "+modulesPrefix+"{namespace}/{name}/{system}/versions", origin.kind(ModuleVersions, origin.moduleVersions))
	origin.mux.HandleFunc("GET "+modulesPrefix+"{namespace}/{name}/{system}/{version}/download", origin.kind(ModuleLocation, origin.moduleLocation))
	origin.mux.HandleFunc("GET "+modulesPrefix+"{namespace}/{name}/{system}/{version}/archive", origin.kind(ModuleArchive, origin.moduleArchive))
	origin.mux.HandleFunc("GET "+filesPath+"{namespace}/{type}/{version}/{name}", origin.file)
	return origin
}

func (o *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.mux.ServeHTTP(w, r) }

// Requests returns the number of requests of each kind so far. It includes requests
// with faults.
func (o *Origin) Requests() map[Kind]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.requests)
}

// Authorized returns the number of requests of each kind that contained an
// Authorization header.
func (o *Origin) Authorized() map[Kind]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.authorized)
}

// Misbehave injects a fault into the next requests of a kind. If times is negative, it
// injects the fault into all requests. Faults of a kind occur in the order in which
// they were added.
func (o *Origin) Misbehave(kind Kind, fault Fault, times int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[kind] = append(o.faults[kind], &planned{fault, times})
}

// Behave removes all faults.
func (o *Origin) Behave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.faults)
}

// kind returns a handler that counts requests of a kind and injects faults.
func (o *Origin) kind(kind Kind, honest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fault := o.arrived(kind, r); fault != nil {
			fault(w, r, honest)
			return
		}
		protected := kind == Versions || kind == Package || kind == ModuleVersions || kind == ModuleLocation
		if o.options.Token != "" && protected && r.Header.Get("Authorization") != "Bearer "+o.options.Token {
			http.Error(w, `{"errors":["a token is needed"]}`, http.StatusUnauthorized)
			return
		}
		honest(w, r)
	}
}

func (o *Origin) arrived(kind Kind, r *http.Request) Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests[kind]++
	if r.Header.Get("Authorization") != "" {
		o.authorized[kind]++
	}
	for _, p := range o.faults[kind] {
		if p.times != 0 {
			p.times--
			return p.fault
		}
	}
	return nil
}

// kindOfFile returns a file's kind, based on the conventional file names.
func kindOfFile(name string) Kind {
	switch {
	case strings.HasSuffix(name, ".sig"):
		return Signature
	case strings.HasSuffix(name, "_SHA256SUMS"):
		return Sums
	}
	return Zip
}
