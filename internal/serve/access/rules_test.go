package access_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/issuertest"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
)

// TestRulesDenyByDefault checks that empty rules allow nothing.
func TestRulesDenyByDefault(t *testing.T) {
	t.Parallel()
	var none *access.Rules
	if !none.AllowAll() {
		t.Error("without rules, requests are rejected")
	}
	is(t, none, "", "", "null rocket secret", nil)
	is(t, none, "anything", "", "null rocket secret", nil)
	host := "host \"tofu.example.com\" {\n  repository = \"ghcr.io/acme/{namespace}/{type}\"\n}\n"
	for name, rules := range map[string]*access.Rules{"zero": {}, "only a host": rulesOf(t, host, access.Options{})} {
		if rules.AllowAll() {
			t.Errorf("%s: everything is allowed", name)
		}
		is(t, rules, "", "", "", access.ErrNoToken)
		is(t, rules, "anything", "", "", access.ErrInvalidToken)
	}
	everyone := rulesOf(t, host+"anonymous { allow = [\"*/*/*\"] }", access.Options{})
	is(t, everyone, "", "", "null rocket secret", nil)
	if c := (access.Caller{}); may(t, c) != "" {
		t.Error("the zero caller can read something")
	}
}

func TestStaticTokens(t *testing.T) {
	t.Parallel()
	tokens := `
token "ci" {
  sha256 = "` + hashed(ciToken) + `"
  allow  = ["acme/*"]
}
token "dev" {
  sha256 = "` + strings.ToUpper(hashed(devToken)) + `"
  allow  = ["*/*/*"]
}
`
	rules := rulesOf(t, tokens, access.Options{})
	if rules.AllowAll() {
		t.Error("everything is allowed")
	}
	is(t, rules, ciToken, "ci", "rocket", nil)
	is(t, rules, devToken, "dev", "null rocket secret", nil)
	is(t, rules, "", "", "", access.ErrNoToken)
	for _, wrong := range []string{ciToken[:63], ciToken + "\n", strings.ToUpper(ciToken), hashed(ciToken), "a", strings.Repeat("a", 1<<20), "a.b.c", ".."} {
		is(t, rules, wrong, "", "", access.ErrInvalidToken)
	}
	// Callers with a token can also read public providers.
	rules = rulesOf(t, `anonymous { allow = ["hashicorp/*"] }`+tokens, access.Options{})
	is(t, rules, "", "", "null", nil)
	is(t, rules, ciToken, "ci", "null rocket", nil)
	is(t, rules, "wrong", "", "", access.ErrInvalidToken)
	rules = rulesOf(t, `anonymous { allow = ["hashicorp/*"] }`, access.Options{})
	is(t, rules, "", "", "null", nil)
	is(t, rules, "wrong", "", "", access.ErrInvalidToken)
}

const issuers = `
token "ci" {
  sha256 = "%s"
  allow  = ["hashicorp/null"]
}
oidc "jobs" {
  issuer   = "http://localhost:8080"
  audience = "mirror"
  allow {
    claims    = { repository_owner = "acme", ref = ["refs/heads/main", "refs/tags/v*"] }
    providers = ["acme/*"]
  }
  allow {
    claims    = { sub = "repo:acme/*", environment = "production" }
    providers = ["tofu.example.com/*/*"]
  }
  allow {
    claims    = { project_path = "acme/infra/*", ref_protected = "true" }
    providers = ["hashicorp/*"]
  }
}
oidc "other" {
  issuer   = "http://127.0.0.1:8081"
  audience = "mirror"
  allow {
    claims    = { sub = "*" }
    providers = ["*/*/*"]
  }
}
`

func TestClaims(t *testing.T) {
	t.Parallel()
	key, err := issuertest.NewECDSA("one")
	if err != nil {
		t.Fatal(err)
	}
	const name = "jobs:repo:acme/rocket:ref:refs/heads/main"
	synctest.Test(t, func(t *testing.T) {
		_, options := issuing(t, key)
		rules := rulesOf(t, strings.Replace(issuers, "%s", hashed(ciToken), 1), options)
		is(t, rules, ciToken, "ci", "null", nil)
		for _, test := range []struct {
			claims    map[string]any
			providers string
		}{
			// GitHub
			{map[string]any{"repository_owner": "acme", "ref": "refs/heads/main"}, "rocket"},
			{map[string]any{"repository_owner": "acme", "ref": "refs/tags/v1"}, "rocket"},
			{map[string]any{"repository_owner": "acme", "ref": "refs/heads/main", "environment": "production"}, "rocket secret"},
			{map[string]any{"repository_owner": "acme", "ref": "refs/heads/main2"}, ""},
			{map[string]any{"repository_owner": "acme", "ref": "refs/heads/*"}, ""},
			{map[string]any{"repository_owner": "acme"}, ""},
			{map[string]any{"repository_owner": "ACME", "ref": "refs/heads/main"}, ""},
			{map[string]any{"repository_owner": "acme-evil", "ref": "refs/heads/main"}, ""},
			{map[string]any{"environment": "production"}, "secret"},
			{map[string]any{"environment": "production2"}, ""},
			// GitLab, and issuers that use Booleans
			{map[string]any{"project_path": "acme/infra/net", "ref_protected": "true"}, "null"},
			{map[string]any{"project_path": "acme/infra/net/a", "ref_protected": true}, "null"},
			{map[string]any{"project_path": "acme/infra", "ref_protected": "true"}, ""},
			{map[string]any{"project_path": "acme/infra/net", "ref_protected": false}, ""},
			// lists, and values of other types
			{map[string]any{"repository_owner": []string{"other", "acme"}, "ref": "refs/heads/main"}, "rocket"},
			{map[string]any{"repository_owner": []string{}, "ref": "refs/heads/main"}, ""},
			{map[string]any{"repository_owner": map[string]any{"acme": "acme"}, "ref": "refs/heads/main"}, ""},
			{map[string]any{"repository_owner": nil, "ref": "refs/heads/main"}, ""},
		} {
			token := signed(t, key, test.claims)
			if test.providers == "" {
				is(t, rules, token, "", "", access.ErrInvalidToken)
				continue
			}
			is(t, rules, token, name, test.providers, nil)
		}
		is(t, rules, signed(t, key, map[string]any{"iss": "http://localhost:8082"}), "", "", access.ErrInvalidToken)
		is(t, rules, signed(t, key, map[string]any{"repository_owner": "acme", "ref": "refs/heads/main", "aud": "other"}), "", "", access.ErrInvalidToken)
	})
}

// TestUnavailableIssuer checks that a token isn't reported as invalid if its issuer
// doesn't respond.
func TestUnavailableIssuer(t *testing.T) {
	t.Parallel()
	key, err := issuertest.NewECDSA("one")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		issuer, options := issuing(t, key)
		issuer.Misbehave("/keys", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		rules := rulesOf(t, strings.Replace(issuers, "%s", hashed(ciToken), 1), options)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		token := signed(t, key, map[string]any{})
		if _, err := rules.Identify(ctx, token); err != context.Canceled { //nolint:errorlint // the error must not be wrapped
			t.Errorf("got %v", err)
		}
		is(t, rules, token, "", "", access.ErrUnavailable)
		is(t, rules, ciToken, "ci", "null", nil)
	})
}

// TestNames checks that names are short, printable, and unique for each subject.
func TestNames(t *testing.T) {
	t.Parallel()
	key, err := issuertest.NewECDSA("one")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		_, options := issuing(t, key)
		text := `oidc "jobs" {
  issuer = "http://localhost:8080"
  audience = "mirror"
  allow {
    claims = { ok = "true" }
    providers = ["acme/*"]
  }
}`
		rules := rulesOf(t, text, options)
		seen := map[string]string{}
		nameOf := func(subject any) string {
			c, err := rules.Identify(t.Context(), signed(t, key, map[string]any{"ok": true, "sub": subject}))
			if err != nil || !c.MayRead(nouns.Address(t, "acme/x")) {
				t.Fatal(err)
			}
			return c.Name
		}
		long := strings.Repeat("x", 91)
		for _, subject := range []string{long, long + "x", long + "y", "a b", "a\nb", "a?b", "ü", "a~b", strings.Repeat("x", 5000)} {
			name := nameOf(subject)
			if other, twice := seen[name]; twice {
				t.Errorf("%q and %q have the same name", subject, other)
			}
			seen[name] = subject
			if len(name) > 96 || strings.Trim(name, "jos:xy?~0123456789abcdef") != "" {
				t.Errorf("%q: %q", subject, name)
			}
		}
		if seen["jobs:"+long] == "" || seen["jobs:a?b"] == "" {
			t.Errorf("names that are short and printable were changed: %q", seen)
		}
		// No subject can have the same name as a different subject.
		if changed := nameOf("ü"); nameOf(strings.TrimPrefix(changed, "jobs:")) == changed {
			t.Error("a subject has the name of another subject")
		}
		if got := nameOf(nil); got != "jobs" {
			t.Errorf("without a subject: %q", got)
		}
	})
}
