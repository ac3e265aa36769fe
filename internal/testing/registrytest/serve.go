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
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// Serve starts a TLS server on a loopback address and returns its "localhost:port". It
// returns a name because registry clients reject token services at loopback addresses.
func Serve(tb testing.TB, ca *testca.CA, h http.Handler) (host string) {
	tb.Helper()
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = config
	s.Config.ErrorLog = log.New(io.Discard, "", 0) //nolint:forbidigo // this is the only way to disable a server's logging
	s.StartTLS()
	tb.Cleanup(s.Close)
	return "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
}

// Client returns an HTTP client that is configured like the program's client. It trusts
// the certificate authority and retries almost without a pause.
func Client(tb testing.TB, ca *testca.CA) *http.Client {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.PEM(), 0o600); err != nil {
		tb.Fatal(err)
	}
	client, err := httpclient.New(httpclient.Options{Timeout: patience.Limit, CAFile: file, FirstWait: time.Microsecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.CloseIdleConnections)
	return client
}

// Tags returns all tags of a repository, or nil if the repository does not exist.
func (r *Registry) Tags(t *testing.T, repository string) []string {
	t.Helper()
	w := r.ask(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), http.MethodGet, "/v2/"+repository+"/tags/list")
	if w.Code == http.StatusNotFound {
		return nil
	}
	_, list, _ := strings.Cut(w.Body.String(), `"tags":[`)
	list, _, _ = strings.Cut(list, "]")
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == '"' })
}

// Delete deletes a tag, manifest, or blob, like a cleanup job.
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

// AddBlob stores a blob. It keeps a reference to content and does not copy it.
func (r *Registry) AddBlob(repository, digest string, content []byte) {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	r.blobs.content[key(repository, digest)] = content
}

// HasBlob reports whether a repository has a blob.
func (r *Registry) HasBlob(repository, digest string) bool {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	_, found := r.blobs.content[key(repository, digest)]
	return found
}

// Manifest returns the manifest for a tag or digest, or nil if the manifest does not
// exist.
func (r *Registry) Manifest(t *testing.T, repository, reference string) []byte {
	t.Helper()
	w := r.ask(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), http.MethodGet, "/v2/"+repository+"/manifests/"+reference)
	if w.Code != http.StatusOK {
		return nil
	}
	return w.Body.Bytes()
}

// Blob returns a blob, or nil if the blob does not exist.
func (r *Registry) Blob(repository, digest string) []byte {
	r.blobs.mu.Lock()
	defer r.blobs.mu.Unlock()
	return r.blobs.content[key(repository, digest)]
}
