package repository_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestLargeBlobWithCredentials checks that each range is requested from the registry
// with the existing credentials, and that the redirect target receives none of them.
func TestLargeBlobWithCredentials(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]registrytest.Options{
		"basic":  {Username: "user", Password: "secret"},
		"bearer": {Username: "user", Password: "secret", Bearer: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := largeServer(t, o)
			var mu sync.Mutex
			at, logins := 0, 0
			cdn := registrytest.Serve(t, s.ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				at++
				if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "x" {
					logins++
				}
				mu.Unlock()
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(largeBlob()))
			}))
			s.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
				if r.Header.Get("Authorization") == "" {
					honest(w, r)
					return
				}
				http.Redirect(w, r, "https://"+cdn+"/blob?sig=x", http.StatusTemporaryRedirect)
			}, -1)
			s.options.Credential = func(context.Context, string) (repository.Credential, error) {
				return repository.Credential{Username: "user", Password: "secret"}, nil
			}
			if n, err := readLarge(t.Context(), s.open(t)); n != largeDescriptor().Size || err != nil {
				t.Fatal(n, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if at != pieces || logins != 0 {
				t.Errorf("%d requests where the bytes are, %d of them wrong", at, logins)
			}
			got := s.Requests()
			if got[registrytest.BlobGet] != pieces+1 || got[registrytest.Token] > 1 {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestLargeBlobLeavesNoGoroutine checks that closing a reader or canceling its context
// leaves no goroutine: a bubble fails if one is left, without waiting for timeouts.
func TestLargeBlobLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(cancel context.CancelFunc, body io.Closer){
		"closed":        func(_ context.CancelFunc, body io.Closer) { _ = body.Close() },
		"context ended": func(cancel context.CancelFunc, _ io.Closer) { cancel() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newMemoryServer(t, registrytest.Options{}).withLargeBlob()
			s.Misbehave(registrytest.BlobGet, origintest.Stall(2<<20), -1)
			ctx, cancel := context.WithCancel(t.Context())
			body, err := s.open(t).Blob(ctx, largeDescriptor())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, body, 1<<20); err != nil {
				t.Fatal(err)
			}
			leave(cancel, body)
			if n, err := io.Copy(io.Discard, body); err == nil || name == "context ended" && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %d bytes more, %v", name, n, err)
			}
			_ = body.Close()
			cancel()
		})
	}
}
