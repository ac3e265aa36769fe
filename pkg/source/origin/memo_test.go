package origin_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// TestRegistryConcurrentCallersShareOneRequest delays the first response until all
// callers are waiting for it.
func TestRegistryConcurrentCallersShareOneRequest(t *testing.T) {
	t.Parallel()
	const callers = 10
	w := newWorld(t, origintest.Options{})
	var started sync.WaitGroup
	started.Add(callers)
	w.origin.Misbehave(origintest.Versions, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		started.Wait()
		honest(rw, r)
	}, -1)
	s := w.source()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			started.Done()
			if _, err := s.Versions(t.Context(), w.address); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := w.origin.Requests()[origintest.Versions]; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestRegistryCanceledCaller cancels the caller that sent the request while another
// caller is waiting for the response.
func TestRegistryCanceledCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	arrived := make(chan struct{})
	w.origin.Misbehave(origintest.Versions, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		close(arrived)
		origintest.Hang()(rw, r, honest)
	}, 1)
	s := w.source()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := s.Versions(ctx, w.address); !errors.Is(err, context.Canceled) {
			t.Errorf("the canceled caller got %v", err)
		}
	})
	<-arrived
	group.Go(func() {
		if _, err := s.Versions(t.Context(), w.address); err != nil {
			t.Errorf("the other caller got %v", err)
		}
	})
	cancel()
	group.Wait()
}
