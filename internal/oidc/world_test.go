package oidc_test

import (
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/oidc"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
)

// RSA keys take long to make, so tests share them.
var (
	rsaKey   = sync.OnceValues(func() (issuertest.Key, error) { return issuertest.NewRSA("rsa-1", 2048) })
	otherRSA = sync.OnceValues(func() (issuertest.Key, error) { return issuertest.NewRSA("rsa-2", 2048) })
)

func keyOf(t *testing.T, made func() (issuertest.Key, error)) issuertest.Key {
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

// world is a verifier and an issuer on a network in memory. Use it in a bubble of
// testing/synctest.
type world struct {
	*issuertest.Issuer
	verifier *oidc.Verifier
}

func newWorld(t *testing.T, keys ...issuertest.Key) world {
	t.Helper()
	network := memnet.New()
	issuer := issuertest.New(url, keys...)
	listener := network.Listen("localhost:8080")
	server := &http.Server{Handler: issuer, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	client, err := httpclient.New(httpclient.Options{Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
	})
	return world{issuer, oidc.New(client)}
}

func (w world) verify(t *testing.T, token string) (oidc.Claims, error) {
	t.Helper()
	return w.verifier.Verify(t.Context(), oidc.Expect{Issuer: url, Audience: audience}, token)
}

// refuses holds that a token is refused, by this error.
func (w world) refuses(t *testing.T, name, token string, want error) {
	t.Helper()
	if claims, err := w.verify(t, token); !errors.Is(err, want) || claims != nil {
		t.Errorf("%s: got %v, %v, want %v", name, claims, err, want)
	}
}

func (w world) accepts(t *testing.T, name, token string) {
	t.Helper()
	if _, err := w.verify(t, token); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// claims are those of a job, changed by some; nil takes one away.
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
