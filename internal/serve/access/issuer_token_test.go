package access_test

import (
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
)

// TestVerify checks tokens that are signed with each type of key.
func TestVerify(t *testing.T) {
	t.Parallel()
	keys := []issuertest.Key{
		issuerKey(t, rsaKey),
		issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewECDSA("ec") }),
		issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewEd25519("ed") }),
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keys...)
		for _, key := range keys {
			w.accepts(t, key.ID, sign(t, key, map[string]any{"aud": []string{"other", audience}}))
		}
		if got := w.Requests(); got != 2 {
			t.Errorf("%d requests to the issuer, want one for its document and one for its keys", got)
		}
	})
}

// TestClaimsAsText checks which claim values rules can match.
func TestClaimsAsText(t *testing.T) {
	t.Parallel()
	key := issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewECDSA("ec") })
	for claim, accepted := range map[string]bool{
		`repository = "acme/rocket"`: true, `ref_protected = "true"`: true, `project_id = "12345678901234567"`: true, `groups = "a"`: true, `groups = "2"`: true,
		`groups = "x"`: false, `groups = "*"`: true, `object = "*"`: false, `nothing = "*"`: false, `none = "*"`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorldOf(t, claim, key)
			token := sign(t, key, map[string]any{
				"ref_protected": true, "project_id": 12345678901234567, "groups": []any{"a", 2, nil, []string{"x"}}, "object": map[string]any{"a": "b"}, "nothing": []any{nil},
			})
			if accepted {
				w.accepts(t, claim, token)
				return
			}
			w.refuses(t, claim, token, access.ErrInvalidToken)
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	key, other := issuerKey(t, rsaKey), issuerKey(t, otherRSA)
	otherWithID := other
	otherWithID.ID = key.ID
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key)
		w.accepts(t, "valid token", sign(t, key, nil))
		unsigned := func(alg string) string {
			return issuertest.Unsigned(map[string]any{"alg": alg, "kid": key.ID}, claims(nil))
		}
		right := sign(t, key, nil)
		parts := strings.Split(right, ".")
		for name, token := range map[string]string{
			"wrong audience":    sign(t, key, map[string]any{"aud": "https://github.com/acme"}),
			"no audience":       sign(t, key, map[string]any{"aud": nil}),
			"wrong issuer":      sign(t, key, map[string]any{"iss": url + "/"}),
			"no issuer":         sign(t, key, map[string]any{"iss": nil}),
			"two issuers":       sign(t, key, map[string]any{"iss": []string{url, url}}),
			"expired":           sign(t, key, map[string]any{"exp": time.Now().Add(-61 * time.Second).Unix()}),
			"no expiry":         sign(t, key, map[string]any{"exp": nil}),
			"expiry, a text":    sign(t, key, map[string]any{"exp": "tomorrow"}),
			"not yet":           sign(t, key, map[string]any{"nbf": time.Now().Add(62 * time.Second).Unix()}),
			"nbf, a text":       sign(t, key, map[string]any{"nbf": "now"}),
			"key of another":    sign(t, otherWithID, nil),
			"other claims":      parts[0] + "." + strings.Split(sign(t, key, map[string]any{"repository": "acme/other"}), ".")[1] + "." + parts[2],
			"alg none":          unsigned("none") + ".",
			"alg none, signed":  unsigned("none") + "." + parts[2],
			"alg NONE":          unsigned("NoNe") + ".",
			"no alg":            unsigned("") + "." + parts[2],
			"public key, HS256": confused(t, unsigned("HS256"), key),
			"RSA key, ES256":    unsigned("ES256") + "." + parts[2],
			"RSA key, PS256":    unsigned("PS256") + "." + parts[2],
			"no signature":      parts[0] + "." + parts[1] + ".",
			"two parts":         parts[0] + "." + parts[1],
			"dots":              "..",
			"line break":        right[:20] + "\n" + right[20:],
			"padding":           right + "=",
			"JSON form":         `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
			"a megabyte":        right + strings.Repeat("A", 1<<20),
			"claims, a list":    parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("[]")) + "." + parts[2],
			"claims, deep":      parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 5000))) + "." + parts[2],
		} {
			w.refuses(t, name, token, access.ErrInvalidToken)
			if _, err := w.rules.Identify(t.Context(), token); err != nil && (strings.Contains(err.Error(), parts[2]) || strings.Contains(err.Error(), parts[1])) {
				t.Errorf("%s: the error contains the token: %v", name, err)
			}
		}
		// The clocks can differ by up to one minute.
		w.accepts(t, "just expired", sign(t, key, map[string]any{"exp": time.Now().Add(-59 * time.Second).Unix()}))
		w.accepts(t, "soon", sign(t, key, map[string]any{"nbf": time.Now().Add(59 * time.Second).Unix()}))
		w.accepts(t, "no nbf", sign(t, key, map[string]any{"nbf": nil}))
		if got := w.Requests(); got != 2 {
			t.Errorf("%d requests to the issuer, want one for its document and one for its keys", got)
		}
	})
}

// confused signs with the public key as a shared secret. The key has the form that
// vulnerable libraries accept.
func confused(t *testing.T, unsigned string, key issuertest.Key) string {
	t.Helper()
	public, ok := key.Public().(*rsa.PublicKey)
	if !ok {
		t.Fatal("not an RSA key")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	mac.Write([]byte(unsigned))
	return unsigned + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestTokensWithoutKeyID checks that tokens without a key ID are accepted if exactly
// one key is suitable.
func TestTokensWithoutKeyID(t *testing.T) {
	t.Parallel()
	key, other := issuerKey(t, rsaKey), issuerKey(t, otherRSA)
	ec := issuerKey(t, func() (issuertest.Key, error) { return issuertest.NewECDSA("ec") })
	nameless := key
	nameless.ID = ""
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key, ec)
		w.accepts(t, "one RSA key", sign(t, nameless, nil))
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, key, other)
		w.refuses(t, "two RSA keys", sign(t, nameless, nil), access.ErrInvalidToken)
	})
}

// TestIssuerURLs checks that issuers require an https URL, or an http URL on a loopback
// address.
func TestIssuerURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://token.actions.githubusercontent.com": true, "https://gitlab.example.com:8443/sub": true, "http://127.0.0.1:80": true, "http://localhost": true, "http://[::1]:1": true,
		"http://gitlab.example.com": false, "gitlab.example.com": false, "": false, "https://": false, "https://a:b@c": false, "https://a?b": false, "https://a?": false, "https://a#b": false,
		"ftp://localhost": false, `https://a\u007f`: false,
	} {
		text := "oidc \"jobs\" {\n issuer = \"" + url + "\"\n audience = \"a\"\n allow {\n claims = { repository_owner = \"a\" }\n providers = [\"a/b\"]\n }\n}"
		if _, err := access.Parse("f", []byte(text), access.Options{}); (err == nil) != want {
			t.Errorf("%q: %v", url, err)
		}
	}
}
