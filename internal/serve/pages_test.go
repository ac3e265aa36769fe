package serve_test

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
)

const rocketPage = "/providers/registry.opentofu.org/acme/rocket"

// TestPages checks the content and the security headers of each page.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	digest := w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	w.push(t, rocket{version: "1.1.0-beta1"})
	for _, test := range []struct {
		path  string
		code  int
		wants []string
	}{
		{"/", 200, []string{"1 provider", `href="` + rocketPage + `"`, ">1.0.0<"}},
		{"/?search=ROCK", 200, []string{"1 provider for", `value="ROCK"`}},
		{"/?search=plane", 200, []string{"0 providers for", "No matching providers."}},
		{"/?search=%3Cb%3E", 200, []string{`value="&lt;b&gt;"`}},
		{"/?page=2", 404, []string{"the last page is 1"}},
		{"/?page=none", 400, []string{"invalid page"}},
		{"/?show=recent", 200, []string{"0 versions"}},
		{"/?show=all", 404, []string{"want recent, pending, or held"}},
		{rocketPage, 200, []string{"1.1.0-beta1", `href="` + rocketPage + `/1.0.0"`, "Complete", "signed", "Lock entry", "hashes = [", "https://tofu.example.com/mirror/"}},
		{rocketPage + "?page=2", 404, []string{"the last page is 1"}},
		{rocketPage + "/1.0.0", 200, []string{
			digest.String()[:60], "haiku_riscv64", "plan9_mips", "/archive/-/registry.opentofu.org/acme/rocket/1.0.0/", "checksums", "signing keys",
			"required_providers", "hashes = [", "h1:47DEQpj8HBSa", "5.0, 6.0", "Signed, key not pinned", "acme &lt;acme@example.com&gt;", "No problems found",
		}},
		{rocketPage + "/1.0.1", 404, []string{"<h1>Not Found</h1>", "1.0.1"}},
		{"/providers/registry.opentofu.org/acme/plane", 404, []string{"acme/plane"}},
		{"/providers/Registry/acme/plane", 404, []string{"invalid host in the path"}},
		{"/login", 303, nil},
	} {
		got := w.get(t, test.path)
		if got.Code != test.code {
			t.Errorf("%s: got %d %s", test.path, got.Code, got.Body)
		}
		for _, want := range test.wants {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s: no %q in %s", test.path, want, got.Body)
			}
		}
		if test.wants != nil {
			checkPage(t, test.path, got.Header(), got.Body.String())
		}
		if a := w.last(); a.Status != test.code || !strings.HasPrefix(a.Route, "page-") && a.Route != "login" {
			t.Errorf("%s: event: %+v", test.path, a)
		}
	}
}

// checkPage checks the properties that all pages share.
func checkPage(t *testing.T, path string, h http.Header, body string) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": page.MediaType, "Content-Security-Policy": page.Policy, "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s: %q", path, name, got)
		}
	}
	if len(body) > 60_000 {
		t.Errorf("%s: got %d bytes", path, len(body))
	}
	for _, link := range regexp.MustCompile(` (?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if to := link[1]; to != "#main" && !strings.HasPrefix(to, "?") && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
			t.Errorf("%s: links to %s", path, to)
		}
	}
}

// TestAssets checks that assets can be cached forever if the path contains their hash.
func TestAssets(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	for _, test := range []struct{ path, mediaType, caching string }{
		{"/static/" + page.Hash() + "/style.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/static/" + page.Hash() + "/page.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/static/older/page.js", "text/javascript; charset=utf-8", "no-cache"},
	} {
		got := w.get(t, test.path)
		if h := got.Header(); got.Code != http.StatusOK || h.Get("Content-Type") != test.mediaType || h.Get("Cache-Control") != test.caching || got.Body.Len() < 100 {
			t.Errorf("%s: got %d %v", test.path, got.Code, h)
		}
	}
	if got := w.get(t, "/static/"+page.Hash()+"/other.css"); got.Code != http.StatusNotFound {
		t.Errorf("got %d", got.Code)
	}
}

// TestPageETags checks that an unchanged page is not sent again.
func TestPageETags(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0"})
	for _, path := range []string{"/", rocketPage, rocketPage + "/1.0.0"} {
		tag := w.get(t, path).Header().Get("Etag")
		if got := w.get(t, path, "If-None-Match", tag); tag == "" || got.Code != http.StatusNotModified || got.Body.Len() > 0 {
			t.Errorf("%s: got %d with %q", path, got.Code, tag)
		}
	}
}

// TestUnknownPaths checks that browsers receive an error page and other clients receive
// JSON.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	got := w.get(t, "/nothing", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "<h1>Not Found</h1>") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		if got := w.get(t, "/nothing", "Accept", accept); got.Code != http.StatusNotFound || !strings.HasPrefix(got.Body.String(), `{"errors":`) {
			t.Errorf("%q: got %d %s", accept, got.Code, got.Body)
		}
	}
}

// TestPagesBelowBase checks that links work below a base path, regardless of whether a
// proxy removes the base path.
func TestPagesBelowBase(t *testing.T) {
	t.Parallel()
	w := newLayout(t, func(o *serve.Options) {
		o.BaseURL = &url.URL{Scheme: "https", Host: "tofu.example.com", Path: "/tools/tofu/"}
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	w.push(t, rocket{version: "1.0.0"})
	for _, path := range []string{"/", "/tools/tofu", "/tools/tofu/", rocketPage, "/tools/tofu" + rocketPage, "/tools/tofu" + rocketPage + "/1.0.0"} {
		got := w.get(t, path)
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `href="/tools/tofu`+rocketPage) {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
		if body := got.Body.String(); strings.Contains(body, `="/static/`) || strings.Contains(body, `="/api/`) {
			t.Errorf("%s: link without the base path: %s", path, body)
		}
	}
	if got := w.get(t, "/tools/tofu/login"); got.Header().Get("Location") != "/tools/tofu/" {
		t.Errorf("got %d %v", got.Code, got.Header())
	}
}

// basic returns the header that browsers send after a login.
func basic(user, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// TestPageAccess checks that pages enforce the access rules, and that browsers can log
// in with a token as the password.
func TestPageAccess(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	for _, test := range []struct {
		name, path string
		headers    []string
		code       int
		want       string
	}{
		{"no token", "/", nil, 401, "your token as the password"},
		{"anonymous, a provider", rocketPage, nil, 401, "Log in"},
		{"anonymous, a version", rocketPage + "/1.0.0", nil, 401, "Log in"},
		{"anonymous, the login", "/login", nil, 401, "Log in"},
		{"a guessed token", "/", basic("me", "canary-guessed"), 401, "Log in"},
		{"the user's name", "/", basic(canary, ""), 401, "Log in"},
		{"a password", "/", basic("me", canary), 200, "Logged in as </span><bdi>ci</bdi>"},
		{"no user", "/", basic("", canary), 200, "acme/<strong>rocket</strong>"},
		{"a token", "/", login, 200, "acme/<strong>rocket</strong>"},
		{"a provider", rocketPage, basic("me", canary), 200, "1.0.0"},
		{"a version", rocketPage + "/1.0.0", basic("me", canary), 200, "hashes = ["},
		{"another provider", "/providers/registry.opentofu.org/hashicorp/null", basic("me", canary), 403, "Forbidden"},
		{"the login", "/login", basic("me", canary), 303, ""},
		{"the API", "/api/v1/providers", basic("me", canary), 200, "rocket"},
		{"the API, anonymous", "/api/v1/providers", nil, 401, "token"},
		{"requests of clients", mirrored + "index.json", basic("me", canary), 401, "token"},
		{"assets", "/static/" + page.Hash() + "/style.css", nil, 200, "--accent"},
	} {
		got := w.get(t, test.path, test.headers...)
		if got.Code != test.code || !strings.Contains(got.Body.String(), test.want) {
			t.Errorf("%s: got %d %s", test.name, got.Code, got.Body)
		}
		challenges := strings.Join(got.Header().Values("WWW-Authenticate"), " ")
		if asks := strings.Contains(challenges, "Basic"); asks != (test.code == 401 && !strings.HasPrefix(test.path, "/mirror")) {
			t.Errorf("%s: WWW-Authenticate: %s", test.name, challenges)
		}
		if a := w.last(); strings.Contains(got.Body.String()+a.Path+a.Caller, "canary") || a.Err != nil && strings.Contains(a.Err.Error(), "canary") {
			t.Errorf("%s: reveals a secret: %+v %s", test.name, a, got.Body)
		}
		if public := strings.HasPrefix(test.path, "/static"); !public && test.code == 200 && got.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %v", test.name, got.Header())
		}
	}
}

// TestAnonymousPages checks that public providers are visible without a login, and that
// pages contain a login link.
func TestAnonymousPages(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t), func(o *serve.Options) {
		o.Rules = ruled(t, `anonymous { allow = ["hashicorp/*"] }`)
	})
	w.push(t, rocket{version: "1.0.0"})
	got := w.get(t, "/")
	if body := got.Body.String(); got.Code != http.StatusOK || strings.Contains(body, "rocket") || !strings.Contains(body, `href="/login"`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, rocketPage); got.Code != http.StatusUnauthorized {
		t.Errorf("got %d", got.Code)
	}
}
