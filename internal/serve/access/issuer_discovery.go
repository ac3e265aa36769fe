package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

const (
	// maxDocument bounds an issuer's documents, in bytes. The largest key sets, those
	// with certificates, have some twenty thousand.
	maxDocument = 256 << 10
	// maxValues bounds the values in them.
	maxValues = 8192
	// maxIssuerKeys bounds the keys of an issuer. What issuers have is some ten.
	maxIssuerKeys = 100
	// minRSA and maxRSA bound the bits of RSA keys: shorter ones are weak, longer ones
	// take long.
	minRSA, maxRSA = 2048, 8192
)

// parseIssuer reads the URL of an issuer, which has to be https without a query, or http
// on loopback.
func parseIssuer(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("it must be a URL")
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("it must be the URL of a host, without a login, a query and a fragment")
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return text, nil
	}
	return "", errors.New("it must begin with https://")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// fetchKeys gets an issuer's keys, by OpenID Connect Discovery 1.0.
func fetchKeys(ctx context.Context, client *http.Client, issuer string) ([]jose.JSONWebKey, error) {
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURL string `json:"jwks_uri"`
	}
	if err := fetch(ctx, client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &metadata); err != nil {
		return nil, err
	}
	if metadata.Issuer != issuer {
		return nil, fmt.Errorf("the document of %s is of another issuer, %.100q", issuer, metadata.Issuer)
	}
	if err := checkJWKS(issuer, metadata.JWKSURL); err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := fetch(ctx, client, metadata.JWKSURL, &set); err != nil {
		return nil, err
	}
	return parseKeys(set.Keys)
}

// checkJWKS holds the place of the keys to what the issuer itself is held to.
func checkJWKS(issuer, keys string) error {
	u, err := url.Parse(keys)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s does not say where its keys are", issuer)
	}
	if u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http:") && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("the keys of %s are at %.100q, which is not https", issuer, httpclient.RedactURL(u))
}

func fetch(ctx context.Context, client *http.Client, from string, into any) error {
	target, err := url.Parse(from)
	if err != nil {
		return httpclient.RedactError(err)
	}
	document, err := httpclient.Get(ctx, client, target, httpclient.Request{
		Header: http.Header{"Accept": {"application/json"}}, Limit: maxDocument,
	})
	if err != nil {
		return err
	}
	if err := bounded.DecodeJSON(document.Bytes, into, maxValues); err != nil {
		return fmt.Errorf("reading %s: %w", httpclient.RedactURL(target), err)
	}
	return nil
}

// readKeys leaves out what is of no use, as RFC 7517 section 5 asks: keys of other
// kinds, for other uses, too weak ones, and shared secrets.
func parseKeys(all []json.RawMessage) ([]jose.JSONWebKey, error) {
	if len(all) > maxIssuerKeys {
		return nil, fmt.Errorf("the issuer offers more than %d keys", maxIssuerKeys)
	}
	var keys []jose.JSONWebKey
	for _, text := range all {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) != nil || key.Use != "" && key.Use != "sig" || !isUsable(key) {
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer offers no key that is of use")
	}
	return keys, nil
}

func isUsable(key jose.JSONWebKey) bool {
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// isFor reports whether a key is for an algorithm: by its kind and, when it says so, by
// its own word.
func supports(key jose.JSONWebKey, algorithm string) bool {
	if key.Algorithm != "" && key.Algorithm != algorithm {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		curve := map[string]string{"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[algorithm]
		return curve == k.Curve.Params().Name
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	}
	return false
}
