package serve_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// silentOrigin is a source that doesn't respond.
type silentOrigin struct{}

func (silentOrigin) Versions(ctx context.Context, _ provider.Address) ([]provider.Version, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silentOrigin) Release(ctx context.Context, _ provider.Address, _ provider.Version, _ ...provider.Platform) (provider.Release, error) {
	<-ctx.Done()
	return provider.Release{}, ctx.Err()
}

func (silentOrigin) Open(ctx context.Context, _ provider.Package) (io.ReadCloser, int64, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

// TestPullThroughHang checks an origin that hangs. The server responds before clients
// time out. For a few seconds, subsequent requests are not delayed.
func TestPullThroughHang(t *testing.T) {
	t.Parallel()
	stored := newLayout(t)
	stored.push(t, rocket{version: "1.0.0"})
	pattern, err := provider.ParsePattern("acme/*")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newLayout(t, func(o *serve.Options) {
			serve.SetTimeouts(o, 0)
			o.Now = time.Now
			o.Open = func(template.Reference) (repository.Reader, error) { return stored.repo, nil }
			o.PullThrough = &pullthrough.Options{
				Patterns: []provider.Pattern{pattern}, Source: silentOrigin{},
				Open: func(template.Reference) (repository.Repository, error) { return stored.repo, nil },
			}
		})
		for _, waited := range []time.Duration{8 * time.Second, 0} {
			start := time.Now()
			got := w.get(t, mirrored+"index.json")
			if versions := document[map[string]map[string]any](t, got)["versions"]; len(versions) != 1 || got.Header().Get("Warning") == "" || time.Since(start) != waited {
				t.Errorf("got %v after %s, %v", versions, time.Since(start), got.Header())
			}
		}
		start := time.Now()
		got := w.get(t, mirrored+"1.2.0.json")
		if got.Code != http.StatusGatewayTimeout || !strings.Contains(got.Body.String(), "the origin registry registry.opentofu.org did not respond in time") || time.Since(start) != 8*time.Second {
			t.Errorf("got %d %s after %s", got.Code, got.Body, time.Since(start))
		}
		time.Sleep(3 * time.Minute) // virtual time; the requests are canceled by then
		w.server.Close()
	})
}

// TestPullThroughClose checks that closing a server removes unfinished releases from
// the repository and the disk.
func TestPullThroughClose(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, over := range makers {
		w := newPullThrough(t, over)
		w.offer(t, "1.2.0", 1<<20)
		begun := make(chan struct{})
		var once sync.Once
		w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			once.Do(func() { close(begun) })
			origintest.Stall(500_000)(rw, r, honest)
		}, -1)
		server := httptest.NewServer(w.server)
		var group sync.WaitGroup
		group.Go(func() {
			resp, err := fetch(t, server.Client(), server.URL+archiveOf("1.2.0", plan9))
			if err != nil {
				return
			}
			if content, err := io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
				t.Errorf("%s: got all of %d bytes", name, len(content))
			}
		})
		<-begun
		w.server.Close()
		group.Wait()
		server.Close()
		if e := w.end(t); e.Err == nil {
			t.Errorf("%s: event: %+v", name, e)
		}
		w.checkAbsent(t, "1.2.0")
		left, err := os.ReadDir(w.pulls.Dir)
		if err != nil || len(left) != 0 {
			t.Errorf("%s: %v remains on the disk, %v", name, left, err)
		}
		if got := w.get(t, archiveOf("1.2.0", plan9)); got.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: after closing: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestPullThroughFullDisk checks that zips that exceed the disk limit are mirrored, and
// that clients receive them from the repository.
func TestPullThroughFullDisk(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry, func(o *serve.Options) { o.PullThrough.MaxDisk = 10 })
	zips := w.offer(t, "1.2.0", 1000)
	if got := w.get(t, archiveOf("1.2.0", plan9)); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if e := w.end(t); e.Err != nil {
		t.Fatal(e.Err)
	}
	w.checkComplete(t, "1.2.0")
	got := w.get(t, archiveOf("1.2.0", plan9))
	ok(t, got.Code, got.Body.String())
	if !bytes.Equal(got.Body.Bytes(), zips[plan9]) {
		t.Errorf("got %d bytes", got.Body.Len())
	}
}

// TestPullThroughResumes checks that an interrupted download is repeated, and that the
// clients that are reading the zip receive every byte once.
func TestPullThroughResumes(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1<<20)
	w.origin.Misbehave(origintest.Zip, origintest.Short(700_000), 1)
	w.registry.Misbehave(registrytest.UploadPost, status(http.StatusServiceUnavailable), 1)
	got := w.get(t, archiveOf("1.2.0", plan9))
	ok(t, got.Code, got.Body.String())
	if !bytes.Equal(got.Body.Bytes(), zips[plan9]) {
		t.Errorf("got %d bytes", got.Body.Len())
	}
	if e := w.end(t); e.Err != nil {
		t.Error(e.Err)
	}
	w.checkComplete(t, "1.2.0")
	if n := w.origin.Requests()[origintest.Zip]; n != 3 {
		t.Errorf("fetched %d zips", n)
	}
}
