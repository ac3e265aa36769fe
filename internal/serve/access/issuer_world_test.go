package access_test

import (
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
)

// Generating RSA keys is slow, so tests share them.
var (
	rsaKey   = sync.OnceValues(func() (issuertest.Key, error) { return issuertest.NewRSA("rsa-1", 2048) })
	otherRSA = sync.OnceValues(func() (issuertest.Key, error) { return issuertest.NewRSA("rsa-2", 2048) })
)

func issuerKey(t *testing.T, made func() (issuertest.Key, error)) issuertest.Key {
	t.Helper()
	key, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const (
	url      = "http://localhost:8080"
	audience = "https://mirror.example.com"
)

// world is an issuer together with rules that accept all of its tokens. It must be used
// in a testing/synctest bubble.
type world struct {
	*issuertest.Issuer
	rules *access.Rules
}

func newWorld(t *testing.T, keys ...issuertest.Key) world {
	t.Helper()
	return newWorldOf(t, `iss = "`+url+`"`, keys...)
}

// newWorldOf returns a world whose rules require the given claims.
func newWorldOf(t *testing.T, claims string, keys ...issuertest.Key) world {
	t.Helper()
	issuer, options := issuing(t, keys...)
	return world{issuer, rulesOf(t, `oidc "jobs" {
  issuer   = "`+url+`"
  audience = "`+audience+`"
  allow {
    claims    = { `+claims+` }
    providers = ["acme/*"]
  }
}`, options)}
}

// refuses checks that a token is rejected with the given error.
func (w world) refuses(t *testing.T, name, token string, want error) {
	t.Helper()
	if caller, err := w.rules.Identify(t.Context(), token); !errors.Is(err, want) || may(t, caller) != "" {
		t.Errorf("%s: got %v, %v, want %v", name, caller, err, want)
	}
}

func (w world) accepts(t *testing.T, name, token string) {
	t.Helper()
	if caller, err := w.rules.Identify(t.Context(), token); err != nil || may(t, caller) != "rocket" {
		t.Errorf("%s: %v", name, err)
	}
}

// claims returns a job's claims with the given changes. A nil value removes a claim.
func claims(changed map[string]any) map[string]any {
	all := map[string]any{
		"iss": url, "aud": audience, "sub": "repo:acme/rocket:ref:refs/heads/main", "repository": "acme/rocket",
		"iat": time.Now().Unix(), "nbf": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	}
	maps.Copy(all, changed)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

func sign(t *testing.T, key issuertest.Key, changed map[string]any) string {
	t.Helper()
	token, err := key.Sign(claims(changed))
	if err != nil {
		t.Fatal(err)
	}
	return token
}
