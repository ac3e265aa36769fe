package serve_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
)

func status(code int) origintest.Fault { return origintest.Status(code) }

// TestFresh checks that a new release appears after the list of tags has expired.
func TestFresh(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	has := func(version string) bool {
		t.Helper()
		return strings.Contains(w.get(t, mirrored+"index.json").Body.String(), `"`+version+`"`)
	}
	if !has("1.0.0") {
		t.Fatal("1.0.0 doesn't exist")
	}
	w.push(t, rocket{version: "1.1.0"})
	w.clock.Forward(serve.DefaultMaxAge - time.Second)
	if has("1.1.0") {
		t.Error("the list of tags was requested too early")
	}
	if got := w.get(t, mirrored+"index.json").Header().Get("Age"); got != "59" {
		t.Errorf("Age: %q", got)
	}
	w.clock.Forward(time.Second)
	if !has("1.1.0") {
		t.Error("1.1.0 doesn't exist")
	}
}

// TestNegativeCaching checks that a missing provider is cached for a few seconds.
func TestNegativeCaching(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	for range 2 {
		if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusNotFound {
			t.Fatalf("got %d", got.Code)
		}
	}
	if n := w.registry.Requests()[registrytest.Tags]; n != 1 {
		t.Errorf("%d lists of tags", n)
	}
	w.push(t, rocket{version: "1.0.0"})
	w.clock.Forward(10 * time.Second)
	document[any](t, w.get(t, mirrored+"index.json"))
}

// TestStale checks that the server serves stale data while the registry is down. The
// data is marked as stale and eventually expires.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, func(o *serve.Options) { o.StaleIfError = time.Hour })
	w.push(t, rocket{version: "1.0.0"})
	document[any](t, w.get(t, mirrored+"index.json"))
	document[any](t, w.get(t, mirrored+"1.0.0.json"))
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.ManifestGet} {
		w.registry.Misbehave(kind, status(http.StatusServiceUnavailable), -1)
	}
	w.clock.Forward(59 * time.Minute)
	for _, path := range []string{"index.json", "1.0.0.json"} {
		got := w.get(t, mirrored+path)
		document[any](t, got)
		if got.Header().Get("Warning") == "" || got.Header().Get("Age") != "3540" || w.last().Stale == nil {
			t.Errorf("%s: not marked as stale: %v", path, got.Header())
		}
	}
	// While a registry is down, the server sends it only some of the requests.
	before := w.registry.Requests()[registrytest.Tags]
	document[any](t, w.get(t, mirrored+"index.json"))
	if n := w.registry.Requests()[registrytest.Tags] - before; n != 0 {
		t.Errorf("%d more requests", n)
	}
	w.clock.Forward(time.Minute)
	got := w.get(t, mirrored+"index.json")
	if got.Code != http.StatusBadGateway || got.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v", got.Code, got.Header())
	}
	w.registry.Behave()
	w.clock.Forward(time.Second)
	if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusOK || got.Header().Get("Warning") != "" {
		t.Errorf("got %d %v", got.Code, got.Header())
	}
}

// TestConcurrentRefresh checks a caller whose lookup misses the cache just before a
// concurrent caller's request completes. Both callers use the result of the same
// request.
func TestConcurrentRefresh(t *testing.T) {
	t.Parallel()
	var w *world
	var begun atomic.Bool
	w = newRegistry(t, func(o *serve.Options) {
		o.Events.OnLookup = func(what string, hit bool) {
			if what == "tags" && !hit && !begun.Swap(true) { // runs between the lookup and the request
				document[any](t, w.get(t, mirrored+"index.json"))
			}
		}
	})
	w.push(t, rocket{version: "1.0.0"})
	before := w.registry.Requests()[registrytest.Tags]
	document[any](t, w.get(t, mirrored+"index.json"))
	if n := w.registry.Requests()[registrytest.Tags] - before; n != 1 {
		t.Errorf("%d lists of tags", n)
	}
}

// TestConcurrentRequests checks that concurrent callers share one request, which continues
// if one of them disconnects.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	w.push(t, rocket{version: "1.0.0"})
	arrived, released := make(chan struct{}), make(chan struct{})
	w.registry.Misbehave(registrytest.Tags, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		close(arrived)
		<-released
		honest(rw, r)
	}, 1)
	before := w.registry.Requests()[registrytest.Tags]
	var group sync.WaitGroup
	codes := make([]int, 20)
	first, leave := leaving(t)
	group.Go(func() { w.server.ServeHTTP(first.recorder, first.request) })
	<-arrived
	for i := range codes {
		group.Go(func() { codes[i] = w.get(t, mirrored+"index.json").Code })
	}
	leave()
	close(released)
	group.Wait()
	for i, code := range codes {
		if code != http.StatusOK {
			t.Errorf("caller %d: got %d", i, code)
		}
	}
	if n := w.registry.Requests()[registrytest.Tags] - before; n != 1 {
		t.Errorf("%d lists of tags", n)
	}
}
