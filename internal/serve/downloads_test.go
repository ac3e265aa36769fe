package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// request requests an archive in the background, until leave is called.
func (w *world) request(t *testing.T, clients *sync.WaitGroup) (leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	clients.Go(func() {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://tofu.example.com"+archive, nil)
		w.server.ServeHTTP(httptest.NewRecorder(), request)
	})
	return leave
}

// TestSharedDownload checks that clients that request the same archive share one download,
// even if one of them leaves.
func TestSharedDownload(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, stored(t))
	r := rocket{version: "1.0.0", size: 3 << 20}
	w.push(t, r)
	zip := string(r.zipOf(plan9))
	started, proceed := make(chan struct{}), make(chan struct{})
	w.registry.Misbehave(registrytest.BlobGet, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		close(started)
		<-proceed
		honest(rw, r)
	}, 1)
	var clients sync.WaitGroup
	leave := w.request(t, &clients)
	<-started
	var ready sync.WaitGroup
	for range 8 {
		ready.Add(1)
		clients.Go(func() {
			ready.Done()
			if got := w.get(t, archive); got.Code != http.StatusOK || got.Body.String() != zip {
				t.Errorf("got %d, %d bytes", got.Code, got.Body.Len())
			}
		})
	}
	ready.Wait()
	close(proceed)
	leave()
	clients.Wait()
	if n := w.registry.Requests()[registrytest.BlobGet]; n > 2 { // a second download is possible if the first client leaves before the others join
		t.Errorf("fetched %d blobs", n)
	}
	if got := w.get(t, archive, "Range", "bytes=0-9"); got.Code != http.StatusPartialContent {
		t.Errorf("the archive was not stored: got %d", got.Code)
	}
}

// TestAbandonedDownload checks that a download is canceled if its last client leaves.
func TestAbandonedDownload(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, stored(t))
	w.push(t, rocket{version: "1.0.0"})
	started, canceled := make(chan struct{}), make(chan struct{})
	w.registry.Misbehave(registrytest.BlobGet, func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		close(started)
		<-r.Context().Done()
		close(canceled)
	}, 1)
	var client sync.WaitGroup
	leave := w.request(t, &client)
	<-started
	leave()
	client.Wait()
	<-canceled
	if got := w.get(t, archive); got.Code != http.StatusOK {
		t.Errorf("afterwards: got %d", got.Code)
	}
}

// TestDownloadWithoutDisk checks that archives are served if they can't be stored
// temporarily.
func TestDownloadWithoutDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	w := newRegistry(t, func(o *serve.Options) {
		var err error
		if o.Store, err = store.Open(dir, store.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // the store can't create its directory
		t.Fatal(err)
	}
	r := rocket{version: "1.0.0"}
	w.push(t, r)
	if got := w.get(t, archive); got.Code != http.StatusOK || got.Body.String() != string(r.zipOf(plan9)) {
		t.Errorf("got %d, %d bytes", got.Code, got.Body.Len())
	}
}
