package repository_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// slowListener limits each accepted connection to 20 MB/s.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &slowConn{Conn: conn}, err
}

type slowConn struct {
	net.Conn
	free time.Time // the time at which all data sent so far would have arrived
}

func (c *slowConn) Write(b []byte) (int, error) {
	const perSecond = 20e6
	// Compensate for waking up late, but credit at most 50 ms of idle time.
	if least := time.Now().Add(-50 * time.Millisecond); c.free.Before(least) {
		c.free = least
	}
	c.free = c.free.Add(time.Duration(float64(len(b)) / perSecond * float64(time.Second)))
	time.Sleep(time.Until(c.free))
	return c.Conn.Write(b)
}

// slowRegistry serves one blob and delays each response by 30 ms. If knowsRanges is
// false, it ignores the Range header.
func slowRegistry(b *testing.B, content []byte, knowsRanges bool) (repository.Repository, ocispec.Descriptor) {
	b.Helper()
	ca, err := testca.New()
	if err != nil {
		b.Fatal(err)
	}
	config, err := ca.ServerConfig("127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(30 * time.Millisecond)
		if !knowsRanges {
			r.Header.Del("Range")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	s.Listener = slowListener{s.Listener}
	s.TLS = &tls.Config{Certificates: config.Certificates, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	b.Cleanup(s.Close)
	ref := template.Reference{Registry: strings.TrimPrefix(s.URL, "https://"), Name: "acme/thing"}
	r, err := repository.Open(ref, repository.Options{HTTP: registrytest.Client(b, ca)})
	if err != nil {
		b.Fatal(err)
	}
	return r, ocispec.Descriptor{MediaType: artifact.MediaTypeZip, Digest: digest.FromBytes(content), Size: int64(len(content))}
}

// BenchmarkBlob reads 128 MiB through the verifying reader. The registry responds after
// 30 ms and limits each connection to 20 MB/s.
func BenchmarkBlob(b *testing.B) {
	content := make([]byte, 128<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(content)
	for name, knowsRanges := range map[string]bool{"one stream": false, "8 ranges": true} {
		b.Run(name, func(b *testing.B) {
			r, d := slowRegistry(b, content, knowsRanges)
			b.SetBytes(d.Size)
			for b.Loop() {
				body, err := repository.Verified(b.Context(), r, d, "thing.zip")
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, body); n != d.Size || err != nil {
					b.Fatal(n, err)
				}
				_ = body.Close()
			}
		})
	}
}
