// Package issuertest provides an OpenID Connect issuer that works like the issuers of
// CI systems. It publishes keys and signs tokens. It signs with the standard library,
// and not with the library that verifies the tokens.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Key is a signing key with an ID.
type Key struct {
	ID      string
	private crypto.Signer
}

// NewRSA creates a key for RS256.
func NewRSA(id string, bits int) (Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, bits)
	return Key{id, private}, err
}

// NewECDSA creates a key for ES256.
func NewECDSA(id string) (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return Key{id, private}, err
}

// NewEd25519 creates a key for EdDSA.
func NewEd25519(id string) (Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	return Key{id, private}, err
}

// Public returns the public key.
func (k Key) Public() crypto.PublicKey { return k.private.Public() }

// Algorithm returns the name of the signature algorithm.
func (k Key) Algorithm() string {
	switch k.private.(type) {
	case *rsa.PrivateKey:
		return "RS256"
	case *ecdsa.PrivateKey:
		return "ES256"
	}
	return "EdDSA"
}

// Sign returns a signed token with the given claims.
func (k Key) Sign(claims map[string]any) (token string, err error) {
	header := map[string]any{"alg": k.Algorithm(), "typ": "JWT"}
	if k.ID != "" {
		header["kid"] = k.ID
	}
	signed := Unsigned(header, claims)
	signature, err := k.sign([]byte(signed))
	return signed + "." + encode(signature), err
}

// Unsigned returns a token's header and claims, without a signature.
func Unsigned(header, claims map[string]any) string {
	h, _ := json.Marshal(header) // these types can always be marshaled
	c, _ := json.Marshal(claims)
	return encode(h) + "." + encode(c)
}

func (k Key) sign(text []byte) ([]byte, error) {
	digest := sha256.Sum256(text)
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey: // r and s have 32 bytes each (RFC 7518, section 3.4)
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			return nil, err
		}
		both := make([]byte, 64)
		r.FillBytes(both[:32])
		s.FillBytes(both[32:])
		return both, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(private, text), nil
	}
	return k.private.Sign(rand.Reader, digest[:], crypto.SHA256)
}

// jwk returns the public key in the format of RFC 7518, section 6.
func (k Key) jwk() map[string]any {
	key := map[string]any{"kid": k.ID, "use": "sig", "alg": k.Algorithm()}
	switch public := k.Public().(type) {
	case *rsa.PublicKey:
		key["kty"], key["n"], key["e"] = "RSA", encode(public.N.Bytes()), "AQAB"
	case *ecdsa.PublicKey:
		point, _ := public.Bytes() // a generated key has a point with the values 4, x, and y
		key["kty"], key["crv"], key["x"], key["y"] = "EC", "P-256", encode(point[1:33]), encode(point[33:])
	case ed25519.PublicKey:
		key["kty"], key["crv"], key["x"] = "OKP", "Ed25519", encode(public)
	}
	return key
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Issuer is an http.Handler that serves the issuer's documents. It is safe for
// concurrent use.
type Issuer struct {
	// URL is the issuer's identifier.
	URL string

	mu       sync.Mutex
	keys     []Key
	faults   map[string]http.HandlerFunc
	requests int
}

// New returns an issuer with the given keys.
func New(url string, keys ...Key) *Issuer { return &Issuer{URL: url, keys: keys} }

// Publish replaces the keys.
func (i *Issuer) Publish(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Misbehave replaces the handler for a path such as "/keys". If answer is nil, the
// default handler is restored.
func (i *Issuer) Misbehave(path string, answer http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.faults == nil {
		i.faults = map[string]http.HandlerFunc{}
	}
	i.faults[path] = answer
}

// Requests returns the number of requests so far.
func (i *Issuer) Requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.requests++
	fault, keys := i.faults[r.URL.Path], i.keys
	i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case fault != nil:
		fault(w, r)
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case strings.HasSuffix(r.URL.Path, "/keys"):
		fmt.Fprint(w, KeySet(keys...))
	default:
		http.NotFound(w, r)
	}
}

// KeySet returns the JSON Web Key Set for keys.
func KeySet(keys ...Key) string {
	all := []map[string]any{}
	for _, k := range keys {
		all = append(all, k.jwk())
	}
	text, _ := json.Marshal(map[string]any{"keys": all})
	return string(text)
}
