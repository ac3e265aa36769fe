package access_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
)

// Tokens in the format of openssl rand -hex 32.
const (
	ciToken  = "7f1c7d6dc1b5b0c7f1e6c0a1b2c3d4e5f60718293a4b5c6d7e8f901234567890"
	devToken = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)

// hashed returns a token's hash in the format of the rules file.
func hashed(token string) string {
	hash := sha256.Sum256([]byte(token))
	return hex.EncodeToString(hash[:])
}

func rulesOf(t *testing.T, text string, o access.Options) *access.Rules {
	t.Helper()
	rules, err := access.Parse("f", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// may returns the types of the providers that a caller can read.
func may(t *testing.T, c access.Caller) string {
	t.Helper()
	var all []string
	for _, a := range []string{"registry.opentofu.org/hashicorp/null", "registry.opentofu.org/acme/rocket", "tofu.example.com/acme/secret"} {
		if c.MayRead(nouns.Address(t, a)) {
			all = append(all, a[strings.LastIndex(a, "/")+1:])
		}
	}
	return strings.Join(all, " ")
}

// is checks a caller's name and readable providers, or the expected error.
func is(t *testing.T, rules *access.Rules, bearer, name, providers string, want error) {
	t.Helper()
	got, err := rules.Identify(t.Context(), bearer)
	if got.Name != name || may(t, got) != providers || !errors.Is(err, want) {
		t.Errorf("got %q, who may read %q, and %v; want %q, %q, %v", got.Name, may(t, got), err, name, providers, want)
	}
	if err != nil && len(bearer) > 8 && strings.Contains(err.Error(), bearer[len(bearer)-8:]) {
		t.Errorf("the error contains the token: %v", err)
	}
}

// issuing returns an issuer on an in-memory network and options with an HTTP client. It
// must be called in a testing/synctest bubble.
func issuing(t *testing.T, keys ...issuertest.Key) (*issuertest.Issuer, access.Options) {
	t.Helper()
	network := memnet.New()
	issuer := issuertest.New("http://localhost:8080", keys...)
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
	return issuer, access.Options{HTTP: client}
}

func signed(t *testing.T, key issuertest.Key, claims map[string]any) string {
	t.Helper()
	for name, value := range map[string]any{
		"iss": "http://localhost:8080", "aud": "mirror", "sub": "repo:acme/rocket:ref:refs/heads/main", "exp": time.Now().Add(time.Minute).Unix(),
	} {
		if _, there := claims[name]; !there {
			claims[name] = value
		}
	}
	token, err := key.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
