package registrytest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// Serve starts a TLS server on loopback and gives its "localhost:port". The name
// matters: registry clients refuse token services at loopback addresses.
func Serve(tb testing.TB, ca *testca.CA, h http.Handler) (host string) {
	tb.Helper()
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = config
	s.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // the way to keep a server silent
	s.StartTLS()
	tb.Cleanup(s.Close)
	return "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
}

// Client returns the client that we use everywhere, trusting the authority and
// with hardly a pause between tries.
func Client(tb testing.TB, ca *testca.CA) *http.Client {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		tb.Fatal(err)
	}
	client, err := httpclient.New(httpclient.Options{CAFile: file, FirstWait: time.Microsecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.CloseIdleConnections)
	return client
}

// Tags lists the tags of a repository; none when it does not exist.
func (r *Registry) Tags(t *testing.T, repository string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	r.tags(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/"+repository+"/tags/list", nil))
	if w.Code == http.StatusNotFound {
		return nil
	}
	_, list, _ := strings.Cut(w.Body.String(), `"tags":[`)
	list, _, _ = strings.Cut(list, "]")
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == '"' })
}

// Delete removes a tag, manifest or blob, as clean-up jobs do.
func (r *Registry) Delete(t *testing.T, repository, reference string) {
	t.Helper()
	if r.blobs.delete(repository, reference) {
		return
	}
	w := httptest.NewRecorder()
	r.inner.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v2/"+repository+"/manifests/"+reference, nil))
	if w.Code != http.StatusAccepted {
		t.Fatalf("deleting %s: %d %s", reference, w.Code, w.Body)
	}
}

// AddBlob stores a blob as if it had been uploaded. The content is kept as it is,
// not copied.
func (r *Registry) AddBlob(repository, digest string, content []byte) {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	r.blobs.content[key(repository, digest)] = content
}

// HasBlob reports whether a repository holds a blob.
func (r *Registry) HasBlob(repository, digest string) bool {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	_, found := r.blobs.content[key(repository, digest)]
	return found
}

// Manifest returns a manifest by tag or digest, nil when there is none.
func (r *Registry) Manifest(t *testing.T, repository, reference string) []byte {
	t.Helper()
	w := r.ask(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), http.MethodGet, "/v2/"+repository+"/manifests/"+reference)
	if w.Code != http.StatusOK {
		return nil
	}
	return w.Body.Bytes()
}

// Blob returns a blob, nil when there is none.
func (r *Registry) Blob(repository, digest string) []byte {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	return r.blobs.content[key(repository, digest)]
}
