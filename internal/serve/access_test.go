package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
)

// ruled returns parsed rules.
func ruled(t *testing.T, text string) func() *access.Rules {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := access.Open(path, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules.Get
}

// everyone contains rules that allow everyone to read everything.
const everyone = "anonymous { allow = [\"*/*/*\"] }\n"

const canary = "canary-token-of-ci"

// guarded allows a token to read acme's providers.
func guarded(t *testing.T) func(*serve.Options) {
	t.Helper()
	hash := sha256.Sum256([]byte(canary))
	key := access.NewArchiveKey()
	return func(o *serve.Options) {
		o.Rules = ruled(t, `token "ci" {
  sha256 = "`+hex.EncodeToString(hash[:])+`"
  allow = ["acme/*"]
}`)
		o.Key = key
		o.Now = present()
	}
}

var login = []string{"Authorization", "Bearer " + canary}

func TestAccess(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	for _, test := range []struct {
		name, path string
		headers    []string
		code       int
	}{
		{"no token", mirrored + "index.json", nil, 401},
		{"another token", mirrored + "index.json", []string{"Authorization", "Bearer canary-guessed"}, 401},
		{"another scheme", mirrored + "index.json", []string{"Authorization", "Basic " + canary}, 401},
		{"the token", mirrored + "index.json", login, 200},
		{"the token, lowercase scheme", mirrored + "index.json", []string{"Authorization", "bearer " + canary}, 200},
		{"another provider", "/mirror/registry.opentofu.org/hashicorp/null/index.json", login, 403},
		{"anonymous, versions", "/v1/providers/acme/rocket/versions", nil, 401},
		{"versions", "/v1/providers/acme/rocket/versions", login, 200},
		{"anonymous, a package", "/v1/providers/acme/rocket/1.0.0/download/plan9/mips", nil, 401},
		{"discovery", "/.well-known/terraform.json", nil, 200},
		{"health", "/healthz", nil, 200},
		{"archive without a token", archive, nil, 401},
		{"an archive with the token in the header", archive, login, 200},
		{"an archive with another token", strings.Replace(archive, "/-/", "/AAAA/", 1), nil, 403},
	} {
		got := w.get(t, test.path, test.headers...)
		if got.Code != test.code {
			t.Errorf("%s: got %d %s", test.name, got.Code, got.Body)
		}
		if challenge := got.Header().Get("WWW-Authenticate"); (challenge != "") != (test.code == 401) {
			t.Errorf("%s: WWW-Authenticate: %q", test.name, challenge)
		}
		a := w.last()
		if eventsMu := a.Path + a.Caller; strings.Contains(eventsMu, "canary") || a.Err != nil && strings.Contains(a.Err.Error(), "canary") || strings.Contains(got.Body.String(), "canary") {
			t.Errorf("%s: reveals a secret: %+v %s", test.name, a, got.Body)
		}
	}
}

// link returns the path of an archive from the network mirror protocol.
func (w *world) link(t *testing.T) string {
	t.Helper()
	url := &url.URL{Path: mirrored}
	at, err := url.Parse(document[archives](t, w.get(t, mirrored+"1.0.0.json", login...)).Archives[plan9.String()].URL)
	if err != nil {
		t.Fatal(err)
	}
	return at.Path
}

// TestLinks checks that links in both protocols are valid without a bearer token, but
// only for one archive.
func TestLinks(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	r := rocket{version: "1.0.0", key: newKey(t)}
	w.push(t, r)
	w.verify(t, document[offered](t, w.get(t, "/v1/providers/acme/rocket/1.0.0/download/plan9/mips", login...)), r.zipOf(plan9))
	if a := w.last(); a.Caller != "ci" || !strings.HasPrefix(a.Path, "/archive/…/-/acme/") {
		t.Errorf("events: %+v", a)
	}
	link := w.link(t)
	for _, test := range []struct {
		name, path string
		code       int
	}{
		{"the link", link, 200},
		{"link for another version", strings.ReplaceAll(link, "1.0.0", "1.0.1"), 403},
		{"link for another platform", strings.ReplaceAll(link, "plan9_mips", "haiku_riscv64"), 403},
		{"link for another provider", strings.ReplaceAll(link, "rocket", "rockot"), 403},
		{"link for another host", strings.Replace(link, "registry.opentofu.org", "registry.terraform.io", 1), 403},
	} {
		if got := w.get(t, test.path); got.Code != test.code {
			t.Errorf("%s: got %d %s", test.name, got.Code, got.Body)
		}
	}
	// Terragrunt escapes links again, so they must not contain characters that are escaped.
	if escaped := (&url.URL{Path: link}).String(); escaped != link || strings.ContainsAny(link, "?&=%") {
		t.Errorf("link %s changes when escaped: %s", link, escaped)
	}
	other := newLayout(t, guarded(t)) // this server has a different key
	other.push(t, r)
	if got := other.get(t, link); got.Code != http.StatusForbidden {
		t.Errorf("server with another key: got %d", got.Code)
	}
}

// TestExpiredLink checks that an expired link is rejected.
func TestExpiredLink(t *testing.T) {
	t.Parallel()
	past := &clock{now: time.Now().Add(-2 * time.Hour)}
	w := newLayout(t, guarded(t), func(o *serve.Options) { o.Now = past.Now })
	w.push(t, rocket{version: "1.0.0"})
	if got := w.get(t, w.link(t)); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "has expired") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestReplicas checks that two servers with the same key return the same links and accept
// each other's links.
func TestReplicas(t *testing.T) {
	t.Parallel()
	options, now := guarded(t), present()
	stopped := func(o *serve.Options) { o.Now = now }
	w := newLayout(t, options, stopped)
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	other := newLayout(t, options, stopped, func(o *serve.Options) { o.From[0] = parsed(t, w.template) })
	for _, path := range []string{mirrored + "index.json", mirrored + "1.0.0.json", "/v1/providers/acme/rocket/versions", "/v1/providers/acme/rocket/1.0.0/download/plan9/mips"} {
		one, two := w.get(t, path, login...), other.get(t, path, login...)
		if one.Code != http.StatusOK || one.Body.String() != two.Body.String() {
			t.Errorf("%s: got %d %s and %d %s", path, one.Code, one.Body, two.Code, two.Body)
		}
	}
	if got := other.get(t, w.link(t)); got.Code != http.StatusOK {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestLimit checks the response to a client that exceeds the rate limit.
func TestLimit(t *testing.T) {
	t.Parallel()
	w := newLayout(t, func(o *serve.Options) { o.Limiter = access.NewLimiter(1e-6, 2) })
	w.push(t, rocket{version: "1.0.0"})
	for _, want := range []int{200, 200, 429} {
		if got := w.get(t, mirrored+"index.json"); got.Code != want || want == 429 && got.Header().Get("Retry-After") == "" {
			t.Errorf("got %d %v", got.Code, got.Header())
		}
	}
	if got := w.get(t, "/healthz"); got.Code != http.StatusOK {
		t.Errorf("health: got %d", got.Code)
	}
}
