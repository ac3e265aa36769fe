package serve_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// silent is a repository that can stop responding.
type silent struct {
	repository.Reader
	hangs *atomic.Bool
}

func (s silent) Tags(ctx context.Context) ([]string, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Reader.Tags(ctx)
}

// TestHang checks that the server responds before clients time out if a registry hangs,
// and even earlier if there is stale data.
func TestHang(t *testing.T) {
	t.Parallel()
	stored := newLayout(t)
	stored.push(t, rocket{version: "1.0.0"})
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		hangs.Store(true)
		w := newLayout(t, func(o *serve.Options) {
			serve.SetTimeouts(o, 0)
			o.Now = time.Now
			o.Open = func(template.Reference) (repository.Reader, error) { return silent{stored.repo, &hangs}, nil }
		})
		start := time.Now()
		if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusGatewayTimeout || time.Since(start) != 8*time.Second {
			t.Errorf("got %d after %s", got.Code, time.Since(start))
		}
		time.Sleep(2 * time.Minute) // virtual time; the request is canceled by then
		hangs.Store(false)
		document[any](t, w.get(t, mirrored+"index.json"))
		time.Sleep(serve.DefaultMaxAge)
		hangs.Store(true)
		start = time.Now()
		for range 3 {
			got := w.get(t, mirrored+"index.json")
			document[any](t, got)
			if got.Header().Get("Warning") == "" || time.Since(start) != 2*time.Second {
				t.Errorf("got %v after %s", got.Header(), time.Since(start))
			}
		}
		time.Sleep(2 * time.Minute) // virtual time; all goroutines end by then
	})
}

// TestReadyHang checks that the server is not ready if a registry hangs, even if the
// previous check succeeded, and that it is ready again soon after the registry responds.
func TestReadyHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		w := newLayout(t, func(o *serve.Options) {
			serve.SetTimeouts(o, 0)
			o.Now = time.Now
			o.Ready = func(ctx context.Context) error {
				if hangs.Load() {
					<-ctx.Done()
				}
				return ctx.Err()
			}
		})
		for _, want := range []struct {
			hangs bool
			code  int
			after time.Duration
		}{{false, http.StatusOK, 0}, {true, http.StatusServiceUnavailable, 8 * time.Second}, {false, http.StatusOK, 0}} {
			hangs.Store(want.hangs)
			start := time.Now()
			if got := w.get(t, "/readyz"); got.Code != want.code || time.Since(start) != want.after {
				t.Errorf("got %d %s after %s", got.Code, got.Body, time.Since(start))
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// broken is a repository that panics.
type broken struct{ repository.Reader }

func (broken) Tags(context.Context) ([]string, error) { panic("a bug") }

// TestPanic checks that a panic in one request doesn't affect other requests.
func TestPanic(t *testing.T) {
	t.Parallel()
	var rulesPanic bool
	w := newLayout(t, func(o *serve.Options) {
		open := o.Open
		o.Open = func(ref template.Reference) (repository.Reader, error) {
			repo, err := open(ref)
			return broken{repo}, err
		}
		o.Ready = func(context.Context) error { panic("another") }
		o.Rules = func() *access.Rules {
			if rulesPanic {
				panic("a third")
			}
			return nil
		}
	})
	if got := w.get(t, "/readyz"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusBadGateway {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	rulesPanic = true
	if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusInternalServerError || got.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, "/healthz"); got.Code != http.StatusOK {
		t.Errorf("got %d", got.Code)
	}
}
