// Package oidc checks the tokens that OpenID Connect issuers give to jobs of
// continuous integration and to workloads. Whoever has no token may send anything,
// so a token leads to a request to its issuer only when that issuer is expected,
// and to no more than a few a minute.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// maxToken bounds a token, in bytes. Those of GitHub and GitLab have some two
	// thousand, and servers take headers of some sixteen.
	maxToken = 16 << 10
	// leeway is how far the clocks of an issuer and of this machine may differ.
	leeway = time.Minute
)

// algorithms are those that a token may be signed with. Those with a shared secret
// are missing: a public key would be one. So is "none".
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Conditions of errors.
var (
	// ErrInvalid: the token proves nothing. It never becomes right.
	ErrInvalid = errors.New("the token is not valid")
	// ErrUnavailable: the issuer's keys can't be had at present.
	ErrUnavailable = errors.New("the issuer does not answer")
)

// Verifier checks tokens, and keeps the keys of their issuers. It is safe for
// concurrent use.
type Verifier struct {
	http *http.Client

	mu      sync.Mutex
	issuers map[string]*issuer
}

// New makes a verifier that fetches keys with a client of internal/httpclient.
func New(client *http.Client) *Verifier {
	return &Verifier{http: client, issuers: map[string]*issuer{}}
}

// Expect says which tokens are accepted.
type Expect struct {
	// Issuer is the URL that the tokens and the issuer's own document have, letter
	// for letter; see [CheckIssuer].
	Issuer string
	// Audience is whom the tokens are for. A token for several has to name it.
	Audience string
}

// Verify gives what a token says of its owner, when its signature, issuer, audience
// and times are right. Errors are ErrInvalid and ErrUnavailable with a reason that
// has nothing of the token's signature in it, and those of the context.
func (v *Verifier) Verify(ctx context.Context, e Expect, token string) (Claims, error) {
	// 1. What needs no key. What is expected is compared again below, when it is proven.
	if found, err := Issuer(token); err != nil || found != e.Issuer {
		return nil, fmt.Errorf("%w: it is of another issuer", ErrInvalid)
	}
	if _, err := jose.ParseSignedCompact(token, algorithms); err != nil {
		return nil, fmt.Errorf("%w: it has another form, or an algorithm that is not accepted", ErrInvalid)
	}
	// 2. Signature, issuer, audience and expiry.
	keys := &keySet{issuer: v.issuer(e.Issuer)}
	checked, err := oidc.NewVerifier(e.Issuer, keys, &oidc.Config{
		ClientID: e.Audience, SupportedSigningAlgs: algorithmNames(),
		Now: func() time.Time { return time.Now().Add(-leeway) },
	}).Verify(ctx, token)
	if err != nil {
		return nil, keys.reason(err)
	}
	// 3. When it begins to count, with the same leeway on this side.
	claims, err := claimsOf(checked)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := claims.begun(time.Now().Add(leeway)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return claims, nil
}

func (v *Verifier) issuer(url string) *issuer {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, known := v.issuers[url]
	if !known {
		i = &issuer{url: url, http: v.http}
		v.issuers[url] = i
	}
	return i
}

func algorithmNames() []string {
	var names []string
	for _, a := range algorithms {
		names = append(names, string(a))
	}
	return names
}

// keySet is the issuer's keys for one token. The library keeps no error's type, so
// this does.
type keySet struct {
	issuer   *issuer
	err      error
	verified bool
}

// VerifySignature implements [oidc.KeySet].
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.verify(ctx, token)
	k.err, k.verified = err, err == nil
	return payload, err
}

func (k *keySet) verify(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: it has another form", ErrInvalid)
	}
	header := signed.Signatures[0].Header
	keys, err := k.issuer.keysFor(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, fmt.Errorf("%w: the signature is not by the issuer's key", ErrInvalid)
}

// reason says why a token was refused.
func (k *keySet) reason(err error) error {
	expired, isExpired := errors.AsType[*oidc.TokenExpiredError](err)
	switch {
	case k.err != nil:
		return k.err
	case !k.verified:
		return fmt.Errorf("%w: it has another form", ErrInvalid)
	case isExpired && expired.Expiry.IsZero():
		return fmt.Errorf("%w: it never expires", ErrInvalid)
	case isExpired:
		return fmt.Errorf("%w: it expired at %s", ErrInvalid, expired.Expiry.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: it is for another audience, or of another form", ErrInvalid)
}

// Issuer gives the issuer that a token names, which proves nothing: it says whose
// keys to ask for. Errors are ErrInvalid.
func Issuer(token string) (string, error) {
	if len(token) > maxToken {
		return "", fmt.Errorf("%w: it has more than %d bytes", ErrInvalid, maxToken)
	}
	payload, err := unproven(token)
	if err != nil {
		return "", err
	}
	issuers := payload.Texts("iss")
	if len(issuers) != 1 {
		return "", fmt.Errorf("%w: it names no issuer", ErrInvalid)
	}
	return issuers[0], nil
}

// IsToken tells whether a text looks like a token of this kind: three parts with dots
// between them.
func IsToken(text string) bool {
	dots := 0
	notOther := !slices.ContainsFunc([]byte(text), func(c byte) bool {
		if c == '.' {
			dots++
		}
		return !isBase64(c) && c != '.'
	})
	return notOther && dots == 2
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
