package origintest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// GitHub is an origin registry whose files are in a GitHub release. It also serves the
// attestations API of this GitHub server, below /api/v3.
type GitHub struct {
	Origin *Origin

	mu sync.Mutex
	// bundles maps the digests of zips to their attestations.
	bundles map[digest.Digest][]map[string]any
	// files maps paths to responses.
	files    map[string]http.HandlerFunc
	requests []*http.Request
}

// NewGitHub returns a GitHub server in front of an origin registry.
func NewGitHub(o *Origin) *GitHub {
	return &GitHub{Origin: o, bundles: map[digest.Digest][]map[string]any{}, files: map[string]http.HandlerFunc{}}
}

// Env returns the environment variables of a job on this server.
func (g *GitHub) Env(host, token string) func(string) string {
	return func(name string) string {
		return map[string]string{"GITHUB_SERVER_URL": "https://" + host, "GITHUB_API_URL": "https://" + host + "/api/v3", "GITHUB_TOKEN": token}[name]
	}
}

const downloads = "/acme/terraform-provider-thing/releases/download"

// Edit is a [Release] Edit function that makes a package document refer to files in a
// GitHub release.
func (g *GitHub) Edit(_ provider.Platform, document map[string]any) {
	for _, key := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
		if location, ok := document[key].(string); ok {
			document[key] = strings.Replace(location, filesPath, downloads+filesPath, 1)
		}
	}
}

// Attest adds an attestation of content. As on GitHub since 2026, the response contains
// the URL of a compressed bundle instead of the bundle.
func (g *GitHub) Attest(host string, bundle []byte, subjects ...digest.Digest) {
	location := "/bundles/" + digest.FromBytes(bundle).Encoded() + ".json.sn"
	g.Serve(location, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(snappy.Encode(nil, bundle)) })
	g.AttestAt("https://"+host+location+"?sig=secret", subjects...)
}

// AttestAt adds an attestation with the given bundle_url.
func (g *GitHub) AttestAt(location string, subjects ...digest.Digest) {
	g.add(map[string]any{"bundle": nil, "bundle_url": location, "repository_id": 1}, subjects...)
}

// AttestInline adds an attestation with a bundle and without a URL.
func (g *GitHub) AttestInline(bundle []byte, subjects ...digest.Digest) {
	g.add(map[string]any{"bundle": json.RawMessage(bundle)}, subjects...)
}

func (g *GitHub) add(attestation map[string]any, subjects ...digest.Digest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range subjects {
		g.bundles[d] = append(g.bundles[d], attestation)
	}
}

// Serve adds a response for a path.
func (g *GitHub) Serve(at string, respond http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.files[at] = respond
}

// AddFile adds a file to the release 1.2.3.
func (g *GitHub) AddFile(name string, content []byte) {
	g.Serve(downloads+filesPath+"acme/thing/1.2.3/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
}

// Requests returns all requests so far for attestations and for files next to zips.
func (g *GitHub) Requests() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.requests)
}

// ServeHTTP implements http.Handler.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	respond, found := g.files[r.URL.Path]
	subject, isAPI := strings.CutPrefix(r.URL.Path, "/api/v3/repos/acme/terraform-provider-thing/attestations/")
	list := g.bundles[digest.Digest(subject)]
	if found || isAPI || strings.HasSuffix(r.URL.Path, ".bundle") || strings.HasSuffix(r.URL.Path, ".sigstore.json") {
		g.requests = append(g.requests, r)
	}
	g.mu.Unlock()
	switch {
	case found:
		respond(w, r)
	case isAPI && len(list) == 0:
		notFound(w)
	case isAPI:
		serveJSON(w, r, map[string]any{"attestations": list})
	default:
		r.URL.Path = strings.TrimPrefix(r.URL.Path, downloads)
		g.Origin.ServeHTTP(w, r)
	}
}

// Bundle returns an unsigned Sigstore bundle with an in-toto statement about the given
// digests.
func Bundle(predicateType string, subjects ...digest.Digest) []byte {
	list := []map[string]any{}
	for i, d := range subjects {
		list = append(list, map[string]any{"name": fmt.Sprint(i), "digest": map[string]string{"sha256": d.Encoded()}})
	}
	payload, _ := json.Marshal(map[string]any{"_type": "https://in-toto.io/Statement/v1", "predicateType": predicateType, "subject": list, "predicate": map[string]any{}})
	data, _ := json.Marshal(map[string]any{
		"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
		"dsseEnvelope": map[string]any{
			"payload": payload, "payloadType": "application/vnd.in-toto+json", "signatures": []map[string]any{{"sig": []byte("unsigned")}},
		},
	})
	return data
}

// BlobBundle returns a Sigstore bundle with an invalid signature of content that has
// the given digest.
func BlobBundle(d digest.Digest) []byte {
	raw, _ := hex.DecodeString(d.Encoded())
	data, _ := json.Marshal(map[string]any{
		"mediaType":        "application/vnd.dev.sigstore.bundle.v0.3+json",
		"messageSignature": map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": raw}, "signature": []byte("unsigned")},
	})
	return data
}
