package repository_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// server is a registry on a loopback address, with the client options to access it.
type server struct {
	*registrytest.Registry
	ca      *testca.CA
	host    string
	options repository.Options
}

func newServer(t *testing.T, o registrytest.Options) *server {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Registry: registrytest.New(o), ca: ca}
	s.host = registrytest.Serve(t, ca, s.Registry)
	s.options.HTTP = registrytest.Client(t, ca)
	s.options.Backoff = func(int) time.Duration { return 0 }
	return s
}

func (s *server) open(t *testing.T) repository.Repository {
	t.Helper()
	r, err := repository.Open(template.Reference{Registry: s.host, Name: repositoryName}, s.options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newMemoryServer starts a registry on an in-memory network.
func newMemoryServer(t *testing.T, o registrytest.Options) *server {
	t.Helper()
	s := &server{Registry: registrytest.New(o)}
	s.host, s.options = inMemory(t, s.Registry)
	return s
}

// inMemory serves a registry with [registrytest.ServeInMemory], and returns the client
// options to access it.
func inMemory(t *testing.T, registry http.Handler) (host string, o repository.Options) {
	t.Helper()
	host, client := registrytest.ServeInMemory(t, registry)
	return host, plainOptions(host, client)
}

// onLoopback is like inMemory, but uses the system's network.
func onLoopback(t *testing.T, registry http.Handler) (host string, o repository.Options) {
	t.Helper()
	server := httptest.NewServer(registry)
	t.Cleanup(server.Close)
	client, err := httpclient.New(httpclient.Options{Timeout: patience.Limit, FirstWait: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	host = strings.TrimPrefix(server.URL, "http://")
	return host, plainOptions(host, client)
}

// plainOptions returns options for a registry without TLS. With the race detector, TLS
// handshakes would take most of the time.
func plainOptions(host string, client *http.Client) repository.Options {
	return repository.Options{
		HTTP: client, PlainHTTP: []string{host}, Backoff: func(int) time.Duration { return 0 }, ConfirmDelay: time.Millisecond,
	}
}

// eachRepository runs a test with an empty layout and an empty registry. Each call of
// open returns a new value for the same repository.
func eachRepository(t *testing.T, test func(t *testing.T, open func() repository.Repository)) {
	t.Helper()
	t.Run("layout", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "not", "there", "yet")
		test(t, func() repository.Repository { return repository.NewLayout(dir) })
	})
	t.Run("registry", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, registrytest.Options{})
		test(t, func() repository.Repository { return s.open(t) })
	})
}

func blob(text string) artifact.Blob {
	return artifact.Blob{
		Descriptor: ocispec.Descriptor{MediaType: "text/plain", Digest: digest.FromString(text), Size: int64(len(text))},
		Bytes:      []byte(text),
	}
}

// index returns an index without manifests. Indexes with different names have different
// digests.
func index(t *testing.T, name string) artifact.Blob {
	t.Helper()
	data, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		ArtifactType: artifact.TypeProvider, Manifests: []ocispec.Descriptor{}, Annotations: map[string]string{"name": name},
	})
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Blob{Descriptor: ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageIndex, ArtifactType: artifact.TypeProvider,
		Digest: digest.FromBytes(data), Size: int64(len(data)),
	}, Bytes: data}
}

func pushBlob(t *testing.T, r repository.Repository, b artifact.Blob) {
	t.Helper()
	if err := r.PushBlob(t.Context(), b.Descriptor, bytes.NewReader(b.Bytes)); err != nil {
		t.Fatal(err)
	}
}

func pushTag(t *testing.T, r repository.Repository, b artifact.Blob, tag string, was digest.Digest) {
	t.Helper()
	if err := r.PushTag(t.Context(), b, tag, was); err != nil {
		t.Fatal(err)
	}
}

// streamed hides all methods of a reader except Read. Content from another server also
// has only this method.
func streamed(data []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(data)} }
