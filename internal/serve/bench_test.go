package serve_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve"
)

// BenchmarkArchive serves a 64 MiB archive over TLS, using HTTP/1.1 and HTTP/2. The
// archive is in an image layout, a store, or a registry.
func BenchmarkArchive(b *testing.B) {
	r := rocket{version: "1.0.0", size: 64 << 20}
	for name, w := range map[string]*world{"layout": newLayout(b), "store": newRegistry(b, stored(b)), "registry": newRegistry(b)} {
		w.push(b, r)
		for protocol, client := range w.startTLS(b) {
			b.Run(name+"/"+protocol, func(b *testing.B) {
				b.SetBytes(int64(r.size))
				for b.Loop() {
					if n := read(b, client, archive); n != int64(r.size) {
						b.Fatalf("got %d bytes", n)
					}
				}
			})
		}
	}
}

// BenchmarkIndex requests the documents of the network mirror protocol concurrently.
func BenchmarkIndex(b *testing.B) {
	w := newRegistry(b)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0"} {
		w.push(b, rocket{version: version})
	}
	for _, path := range []string{mirrored + "index.json", mirrored + "1.0.0.json"} {
		for protocol, client := range w.startTLS(b) {
			b.Run(path[len(mirrored):]+"/"+protocol, func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						read(b, client, path)
					}
				})
			})
		}
	}
}

// toServer connects to a server regardless of the host in a URL.
type toServer struct {
	*http.Transport
	address string
}

func (s toServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Host = s.address
	return s.Transport.RoundTrip(req)
}

// startTLS starts a server, and returns clients for HTTP/1.1 and HTTP/2.
func (w *world) startTLS(b *testing.B) map[string]*http.Client {
	b.Helper()
	dir := b.TempDir()
	one := certificate(b, dir)
	c, err := serve.TLSConfig(dir+"/cert.pem", dir+"/key.pem", nil)
	if err != nil {
		b.Fatal(err)
	}
	server := w.run(b, serve.ListenOptions{TLS: c})
	transport, _ := one.Transport.(*http.Transport)
	clients := map[string]*http.Client{}
	for name, protocols := range map[string]string{"HTTP1": "http/1.1", "HTTP2": "h2"} {
		t := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, NextProtos: []string{protocols}, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: protocols == "h2", MaxIdleConnsPerHost: 64, ReadBufferSize: 64 << 10,
		}
		b.Cleanup(t.CloseIdleConnections)
		clients[name] = &http.Client{Transport: toServer{t, server.address}}
	}
	return clients
}

// read reads a response.
func read(b *testing.B, client *http.Client, path string) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "https://tofu.example.com"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("got %s, %v", resp.Status, err)
	}
	return n
}
