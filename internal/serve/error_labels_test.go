package serve_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

// TestFailures checks the labels of failed requests. Each failure is reported once.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  registrytest.Kind
		fault origintest.Fault
		path  string
		want  string
	}{
		"server":   {registrytest.Tags, status(http.StatusServiceUnavailable), mirrored + "index.json", "server"},
		"limited":  {registrytest.Tags, status(http.StatusTooManyRequests), mirrored + "index.json", "limited"},
		"denied":   {registrytest.Tags, status(http.StatusForbidden), mirrored + "index.json", "denied"},
		"response": {registrytest.ManifestGet, status(http.StatusTeapot), mirrored + "1.0.0.json", "response"},
		"network":  {registrytest.Tags, origintest.Reset(0), mirrored + "index.json", "network"},
		"archive":  {registrytest.BlobGet, status(http.StatusServiceUnavailable), archive, "server"},
		"offers":   {registrytest.Tags, status(http.StatusServiceUnavailable), "/v1/providers/acme/rocket/versions", "server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			w := newRegistry(t, func(o *serve.Options) {
				o.Events.OnFailure = func(kind string, err error) {
					mu.Lock()
					defer mu.Unlock()
					if got = append(got, kind); err == nil {
						t.Error("no error")
					}
				}
			})
			w.push(t, rocket{version: "1.0.0"})
			w.registry.Misbehave(test.kind, test.fault, -1)
			if code := w.get(t, test.path).Code; code < 500 {
				t.Fatalf("got %d", code)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLookups checks that the first lookup is a miss and the second lookup is a hit.
func TestLookups(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	hits := map[string][]bool{}
	w := newLayout(t, func(o *serve.Options) {
		o.Events.OnLookup = func(what string, hit bool) {
			mu.Lock()
			defer mu.Unlock()
			hits[what] = append(hits[what], hit)
		}
	})
	w.push(t, rocket{version: "1.0.0", key: newKey(t)})
	for range 2 {
		document[any](t, w.get(t, "/v1/providers/acme/rocket/versions"))
		// Each protocol has separate cache entries.
		if got := w.get(t, strings.Replace(archive, "registry.opentofu.org", "-", 1)); got.Code != http.StatusOK {
			t.Fatalf("got %d", got.Code)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got, want := slices.Sorted(maps.Keys(hits)), []string{"documents", "index", "manifest", "tags", "versions"}; !slices.Equal(got, want) {
		t.Errorf("lookups for %q, want %q", got, want)
	}
	for what, all := range hits {
		if all[0] || slices.Contains(all[1:], false) {
			t.Errorf("%s: hits %v, want all but the first", what, all)
		}
	}
}

// TestRefusals checks the labels of rejected requests.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newLayout(t, guarded(t))
	w.push(t, rocket{version: "1.0.0"})
	for _, test := range []struct {
		method, path string
		headers      []string
		want         string
	}{
		{http.MethodGet, mirrored + "index.json", nil, "no-token"},
		{http.MethodGet, mirrored + "index.json", []string{"Authorization", "Bearer canary-guessed"}, "token"},
		{http.MethodGet, "/mirror/registry.opentofu.org/hashicorp/null/index.json", login, "forbidden"},
		{http.MethodGet, strings.Replace(archive, "/-/", "/AAAA/", 1), nil, "link"},
		{http.MethodPost, mirrored + "index.json", login, "method"},
		{http.MethodGet, mirrored + "%2e%2e/index.json", login, "request"},
		{http.MethodGet, "/" + strings.Repeat("a", 5000), login, "request"},
		{http.MethodGet, archive, append([]string{"Range", "bytes=1000000-"}, login...), "range"},
		{http.MethodGet, mirrored + "index.json", login, ""},
		{http.MethodGet, mirrored + "2.0.0.json", login, ""},
	} {
		got := w.ask(t, test.method, test.path, test.headers...)
		if a := w.last(); a.Refused != test.want {
			t.Errorf("%s %.60s: %d, refusal label %q, want %q", test.method, test.path, got.Code, a.Refused, test.want)
		}
	}
}

// TestRefusedRate checks the label for too many requests.
func TestRefusedRate(t *testing.T) {
	t.Parallel()
	w := newLayout(t, func(o *serve.Options) { o.Limiter = access.NewLimiter(0.001, 1) })
	for _, want := range []string{"", "rate"} {
		w.get(t, mirrored+"index.json")
		if a := w.last(); a.Refused != want {
			t.Errorf("refusal label %q, want %q", a.Refused, want)
		}
	}
}
