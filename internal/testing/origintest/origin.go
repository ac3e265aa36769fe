// Package origintest is a small origin registry that speaks the provider
// registry protocol, for tests and demonstrations. It can misbehave, by name
// and as often as asked.
//
// https://opentofu.org/docs/internals/provider-registry-protocol/
package origintest

import (
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Kind is a kind of request.
type Kind string

// The kinds of requests that an origin answers, in the order in which an
// installation makes them.
const (
	Discovery Kind = "discovery"
	Versions  Kind = "versions"
	Package   Kind = "package"
	Sums      Kind = "sums"
	Signature Kind = "signature"
	Zip       Kind = "zip"
)

// Kinds are all of them.
var Kinds = []Kind{Discovery, Versions, Package, Sums, Signature, Zip}

const (
	discoveryPath = "/.well-known/terraform.json"
	defaultPrefix = "/v1/providers/"
	filesPath     = "/files/"
)

// Options say what an origin is like; the zero value is an open registry that
// tells all it can.
type Options struct {
	// Prefix is the path of the provider registry, with slashes at both ends;
	// "/v1/providers/" when empty.
	Prefix string
	// Service is what discovery tells as providers.v1; Prefix when empty.
	Service string
	// RelativeURLs makes package documents refer to files by path only.
	RelativeURLs bool
	// FilesBase is put before the paths of files, such as another server's
	// "https://host:port" that serves this same Origin. Empty means the host
	// that was asked.
	FilesBase string
	// NoPackages leaves out the "packages" block with all platforms' hashes and
	// sizes, as registries do that are not registry.opentofu.org.
	NoPackages bool
	// ETags gives zips an ETag, so that a download may go on where it broke off.
	ETags bool
	// Token is demanded as a bearer of requests for versions and packages.
	Token string
}

// Origin is the registry. It is an http.Handler, safe for concurrent use.
type Origin struct {
	options Options
	mux     *http.ServeMux

	mu         sync.Mutex
	releases   []*release
	requests   map[Kind]int
	authorized map[Kind]int
	faults     map[Kind][]*planned
}

// planned is a fault and how often it is still due; negative means always.
type planned struct {
	fault Fault
	times int
}

// New makes an origin without releases.
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
	origin.mux.HandleFunc("GET "+filesPath+"{namespace}/{type}/{version}/{name}", origin.file)
	return origin
}

func (o *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.mux.ServeHTTP(w, r) }

// Requests tells how many requests of each kind came so far. Requests that met
// a fault count, kinds that were not asked for are absent.
func (o *Origin) Requests() map[Kind]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.requests)
}

// Authorized tells how many requests of each kind bore an Authorization header.
func (o *Origin) Authorized() map[Kind]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.authorized)
}

// Misbehave makes the next requests of a kind meet a fault; negative times mean
// all of them. Faults of a kind are met in the order in which they were set.
func (o *Origin) Misbehave(kind Kind, fault Fault, times int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[kind] = append(o.faults[kind], &planned{fault, times})
}

// Behave takes all faults back.
func (o *Origin) Behave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.faults)
}

// kind counts a request and lets it meet its fault.
func (o *Origin) kind(kind Kind, honest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fault := o.arrived(kind, r); fault != nil {
			fault(w, r, honest)
			return
		}
		protected := kind == Versions || kind == Package
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

// kindOfFile tells what a file is by its name, as publishers name them.
func kindOfFile(name string) Kind {
	switch {
	case strings.HasSuffix(name, ".sig"):
		return Signature
	case strings.HasSuffix(name, "_SHA256SUMS"):
		return Sums
	}
	return Zip
}
