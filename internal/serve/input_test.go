package serve_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestBadInput checks the status, the JSON error, and the event of invalid requests.
// Invalid requests must not cause requests to the registry.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	before := w.registry.Requests()
	for _, test := range []struct {
		name, path string
		code       int
	}{
		{"nothing", "/nothing", 404},
		{"another path", "/v2/acme/rocket/tags/list", 404},
		{"dots", "/mirror/../mirror/registry.opentofu.org/acme/rocket/index.json", 400},
		{"dots, escaped", "/mirror/%2e%2e/acme/rocket/index.json", 400},
		{"one dot", "/mirror/./acme/rocket/index.json", 400},
		{"an escaped slash", "/mirror/registry.opentofu.org%2Facme/rocket/x/index.json", 400},
		{"an escaped backslash", "/mirror/registry.opentofu.org/acme%5C/rocket/index.json", 400},
		{"two slashes", "/mirror//acme/rocket/index.json", 400},
		{"trailing slash", "/healthz/", 400},
		{"invalid escape", "/mirror/registry.opentofu.org/%ff/rocket/index.json", 400},
		{"a control character", "/mirror/registry.opentofu.org/a%0ab/rocket/index.json", 400},
		{"a NUL", "/mirror/registry.opentofu.org/a%00b/rocket/index.json", 400},
		{"no host", "/mirror/a_b/acme/rocket/index.json", 404},
		{"uppercase host", "/mirror/Registry.opentofu.org/acme/rocket/index.json", 404},
		{"a host with a port", "/mirror/registry.opentofu.org:443/acme/rocket/index.json", 404},
		{"invalid namespace", "/mirror/registry.opentofu.org/-/rocket/index.json", 404},
		{"invalid type", "/mirror/registry.opentofu.org/acme/terraform-provider-rocket/index.json", 404},
		{"no version", mirrored + "one.json", 400},
		{"version not in canonical form", mirrored + "1.0.json", 404},
		{"a number that is too large", mirrored + "99999999999999999999.0.0.json", 400},
		{"a name of a megabyte", "/mirror/registry.opentofu.org/" + strings.Repeat("a", 1<<20) + "/rocket/index.json", 414},
		{"invalid platform", "/v1/providers/acme/rocket/1.0.0/download/linux/amd_64", 404},
		{"another document", "/v1/documents/-/-/acme/rocket/1.0.0/terraform-provider-rocket_1.0.0_plan9_mips.zip/keys", 404},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := w.raw(t, method, test.path)
			if got.Code != test.code || got.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s: got %d %v %s", test.name, method, got.Code, got.Header(), got.Body)
			}
			if method == http.MethodGet && !strings.HasPrefix(got.Body.String(), `{"errors":["`) {
				t.Errorf("%s: got %s", test.name, got.Body)
			}
			if a := w.last(); a.Status != test.code || a.Err == nil || len(a.Path) > 5000 {
				t.Errorf("%s: event: %+v", test.name, a)
			}
		}
	}
	for kind, n := range w.registry.Requests() {
		if n != before[kind] {
			t.Errorf("%d requests for %s", n-before[kind], kind)
		}
	}
}

// raw requests a path that clients would not send.
func (w *world) raw(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "https://tofu.example.com/", nil)
	u.Scheme, u.Host = "https", "tofu.example.com"
	r.URL = u
	response := httptest.NewRecorder()
	w.server.ServeHTTP(response, r)
	return response
}

// TestMethods checks that only GET and HEAD are supported.
func TestMethods(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
		if got := w.ask(t, method, mirrored+"index.json"); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d", method, got.Code)
		}
	}
}

// TestUpstreamErrors checks that errors of the registry are not reported as errors of
// the client.
func TestUpstreamErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int{
		http.StatusUnauthorized: 502, http.StatusForbidden: 502, http.StatusTooManyRequests: 503,
		http.StatusInternalServerError: 502, http.StatusBadGateway: 502, http.StatusTeapot: 502,
	} {
		w := newRegistry(t)
		w.push(t, rocket{version: "1.0.0"})
		w.registry.Misbehave("tags", status(code), -1)
		for _, path := range []string{mirrored + "index.json", "/v1/providers/acme/rocket/versions"} {
			got := w.get(t, path)
			if got.Code != want || got.Header().Get("Retry-After") == "" {
				t.Errorf("%d: got %d %v %s", code, got.Code, got.Header(), got.Body)
			}
			if strings.Contains(got.Body.String(), "localhost") {
				t.Errorf("%d: reveals the registry: %s", code, got.Body)
			}
		}
	}
}
