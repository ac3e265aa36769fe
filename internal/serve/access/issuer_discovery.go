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
	// maxDocument limits the size of an issuer's documents in bytes. The largest key
	// sets contain certificates and are about 20,000 bytes in size.
	maxDocument = 256 << 10
	// maxValues limits the number of JSON values in a document.
	maxValues = 8192
	// maxIssuerKeys limits the number of an issuer's keys. Issuers usually have about
	// ten keys.
	maxIssuerKeys = 100
	// minRSA and maxRSA are the accepted sizes of RSA keys in bits. Smaller keys are
	// weak, and larger keys are slow.
	minRSA, maxRSA = 2048, 8192
)

// parseIssuer parses the URL of an issuer. The URL must use https, or http on a
// loopback address. It must not have a query.
func parseIssuer(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("must be a URL")
	case u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("must be a URL with a host and without credentials, query, or fragment")
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return text, nil
	}
	return "", errors.New("must start with https://")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// fetchKeys fetches an issuer's keys with OpenID Connect Discovery 1.0.
func fetchKeys(ctx context.Context, client *http.Client, issuer string) ([]jose.JSONWebKey, error) {
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURL string `json:"jwks_uri"`
	}
	if err := fetch(ctx, client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &metadata); err != nil {
		return nil, err
	}
	if metadata.Issuer != issuer {
		return nil, fmt.Errorf("discovery document of %s: unexpected issuer %.100q", issuer, metadata.Issuer)
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

// checkJWKS requires https for the keys' URL. If the issuer is on a loopback address,
// http is also allowed.
func checkJWKS(issuer, keys string) error {
	u, err := url.Parse(keys)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s: discovery document has no valid jwks_uri", issuer)
	}
	if u.Scheme == "https" || u.Scheme == "http" && strings.HasPrefix(issuer, "http:") && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s: jwks_uri %.100q does not use https", issuer, httpclient.RedactURL(u))
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

// parseKeys returns the usable signing keys. As section 5 of RFC 7517 recommends, it
// ignores every other key: keys of different types or for different uses, weak keys,
// and shared secrets.
func parseKeys(all []json.RawMessage) ([]jose.JSONWebKey, error) {
	if len(all) > maxIssuerKeys {
		return nil, fmt.Errorf("the issuer has more than %d keys", maxIssuerKeys)
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
		return nil, errors.New("the issuer has no usable keys")
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

// supports reports whether a key can be used with an algorithm, based on the key's type
// and alg parameter.
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
