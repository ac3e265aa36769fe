package access_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"errors"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
)

func TestIssuerKeyRotation(t *testing.T) {
	t.Parallel()
	old, next := issuerKey(t, rsaKey), issuerKey(t, otherRSA)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, old)
		w.accepts(t, "the first key", sign(t, old, nil))
		w.Publish(old, next)
		time.Sleep(time.Minute)
		w.accepts(t, "the second, unknown key", sign(t, next, nil))
		w.accepts(t, "the first key again", sign(t, old, nil))
		// A revoked key must be removed within one hour, without delaying requests.
		w.Publish(next)
		time.Sleep(time.Hour)
		w.accepts(t, "the old key, an hour later", sign(t, old, nil))
		synctest.Wait()
		w.refuses(t, "the revoked key", sign(t, old, nil), access.ErrInvalidToken)
		w.accepts(t, "the new key", sign(t, next, nil))
	})
}

// TestIssuerRequestLimit checks that tokens with unknown keys cause few requests to the
// issuer.
func TestIssuerRequestLimit(t *testing.T) {
	t.Parallel()
	key := issuerKey(t, rsaKey)
	forger := issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewECDSA("") })
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key)
		w.accepts(t, "valid token", sign(t, key, nil))
		time.Sleep(time.Minute)
		var all sync.WaitGroup
		for i := range 600 { // ten minutes
			for j := range 3 {
				forged := forger
				forged.ID = fmt.Sprint("key ", i, " ", j)
				token := sign(t, forged, nil)
				all.Go(func() { w.refuses(t, "forged token", token, access.ErrInvalidToken) })
			}
			all.Wait()
			time.Sleep(time.Second)
		}
		w.accepts(t, "valid token afterwards", sign(t, key, nil))
		// The discovery document and the keys are requested at the start, and then once
		// per minute.
		if got := w.Requests(); got > 2+2*10 {
			t.Errorf("%d requests to the issuer for 1,800 forged tokens", got)
		}
		// Tokens of unknown issuers cause no requests.
		before := w.Requests()
		time.Sleep(time.Hour / 2)
		w.refuses(t, "of another issuer", sign(t, forger, map[string]any{"iss": "http://169.254.169.254"}), access.ErrInvalidToken)
		if got := w.Requests(); got != before {
			t.Errorf("%d further requests to the issuer", got-before)
		}
	})
}

// TestHangingIssuer checks that tokens with known keys are accepted immediately. All
// other tokens share one wait of ten seconds.
func TestHangingIssuer(t *testing.T) {
	t.Parallel()
	key, next := issuerKey(t, rsaKey), issuerKey(t, otherRSA)
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key)
		w.Misbehave("/keys", hang)
		start := time.Now()
		token := sign(t, key, nil)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { w.refuses(t, "without keys", token, access.ErrUnavailable) })
		}
		all.Wait()
		if took := time.Since(start); took != 10*time.Second || w.Requests() != 2 {
			t.Errorf("took %s and %d requests", took, w.Requests())
		}
		// Further requests fail immediately until a retry is due.
		w.refuses(t, "at once", token, access.ErrUnavailable)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %s", took)
		}
		w.Misbehave("/keys", nil)
		time.Sleep(10 * time.Second)
		w.accepts(t, "when the issuer is back", token)

		// If the keys are cached, the issuer can hang for a day.
		w.Misbehave("/keys", hang)
		time.Sleep(23 * time.Hour)
		start = time.Now()
		w.accepts(t, "a day later", sign(t, key, nil))
		if took := time.Since(start); took != 0 {
			t.Errorf("took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.rules.Identify(ctx, sign(t, next, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("disconnected client: %v", err)
		}
		time.Sleep(time.Hour)
		w.refuses(t, "expired keys", sign(t, key, nil), access.ErrUnavailable)
	})
}

// TestBadIssuers checks that invalid and oversized responses are rejected.
func TestBadIssuers(t *testing.T) {
	t.Parallel()
	key := issuerKey(t, rsaKey)
	weak := issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewRSA("rsa-1", 1024) })
	respond := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	const about, keys = "/.well-known/openid-configuration", "/keys"
	one := issuertest.KeySet(key)
	for name, test := range map[string]struct {
		path    string
		handler http.HandlerFunc
		want    string
	}{
		"huge keys":         {keys, sendEndlessly, "262144"},
		"huge document":     {about, sendEndlessly, "262144"},
		"many keys":         {keys, respond(`{"keys":[` + strings.Repeat(`{},`, 100) + `{}]}`), "more than 100 keys"},
		"many values":       {keys, respond(`{"keys":[` + strings.Repeat(`0,`, 9000) + `0]}`), "exceeds 8192 values"},
		"no keys":           {keys, respond(`{"keys":[]}`), "no usable keys"},
		"weak key":          {keys, respond(issuertest.KeySet(weak)), "no usable keys"},
		"shared secret":     {keys, respond(`{"keys":[{"kty":"oct","kid":"rsa-1","k":"c2VjcmV0"}]}`), "no usable keys"},
		"key to encrypt":    {keys, respond(strings.Replace(one, `"sig"`, `"enc"`, 1)), "no usable keys"},
		"no JSON":           {keys, respond("<html>"), "reading http://localhost:8080/keys"},
		"of another issuer": {about, respond(`{"issuer":"https://example.com","jwks_uri":"http://localhost:8080/keys"}`), "unexpected issuer"},
		"keys elsewhere":    {about, respond(`{"issuer":"` + url + `","jwks_uri":"http://example.com/keys"}`), "does not use https"},
		"keys in a file":    {about, respond(`{"issuer":"` + url + `","jwks_uri":"file:///etc/passwd"}`), "no valid jwks_uri"},
		"status":            {about, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, key)
			w.Misbehave(test.path, test.handler)
			w.refuses(t, name, sign(t, key, nil), access.ErrUnavailable)
			if _, err := w.rules.Identify(t.Context(), sign(t, key, nil)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want …%s…", name, err, test.want)
			}
		})
	}
	// Unusable keys are ignored.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key)
		w.Misbehave(keys, respond(strings.Replace(one, "RS256", "RS512", 1)))
		w.refuses(t, "a key for RS512", sign(t, key, nil), access.ErrInvalidToken)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key)
		w.Misbehave(keys, respond(strings.Replace(one, `{"keys":[`, `{"keys":[7,{"kty":"EC","crv":"P-1"},{"kty":"oct","k":"AA"},`, 1)))
		w.accepts(t, "with unusable keys", sign(t, key, nil))
	})
}

// sendEndlessly sends an endless response.
func sendEndlessly(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, `{"keys":["`)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("A", 4096)); err != nil {
			return
		}
	}
}
