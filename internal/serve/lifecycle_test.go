package serve_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// running is a server on a loopback address.
type running struct {
	address string
	// end shuts the server down. wait returns its result.
	end  func()
	wait func() error
}

func (w *world) run(tb testing.TB, life serve.ListenOptions) running {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return w.runOn(tb, l, life)
}

// runOn runs the server on a listener. If life.Grace is zero, the server waits for all
// requests in progress.
func (w *world) runOn(tb testing.TB, l net.Listener, life serve.ListenOptions) running {
	tb.Helper()
	life.Grace = cmp.Or(life.Grace, patience.Limit)
	ctx, end := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.server.Run(ctx, l, life) }()
	tb.Cleanup(end)
	return running{l.Addr().String(), end, func() error { return <-ended }}
}

func fetch(t *testing.T, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

// TestShutdown checks that a download in progress completes before the server stops.
func TestShutdown(t *testing.T) {
	t.Parallel()
	w := newRegistry(t)
	r := rocket{version: "1.0.0", size: 8 << 20}
	w.push(t, r)
	server := w.run(t, serve.ListenOptions{})
	resp, err := fetch(t, http.DefaultClient, "http://"+server.address+archive)
	if err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err != nil {
		t.Fatal(err)
	}
	server.end()
	content, err := io.ReadAll(body)
	if err != nil || string(content) != string(r.zipOf(plan9)) {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	if err := server.wait(); err != nil {
		t.Error(err)
	}
	if _, err := fetch(t, http.DefaultClient, "http://"+server.address+"/healthz"); err == nil {
		t.Error("still responds")
	}
}

// TestShutdownTimeout checks that the server stops in time even if a client stops reading.
func TestShutdownTimeout(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0", size: 64 << 20})
	server := w.run(t, serve.ListenOptions{Grace: time.Millisecond})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", archive); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	server.end()
	if err := server.wait(); err != nil {
		t.Error(err)
	}
}

// certificate writes a certificate, and returns a client that trusts it.
func certificate(tb testing.TB, dir string) *http.Client {
	tb.Helper()
	ca, err := testca.New()
	if err != nil {
		tb.Fatal(err)
	}
	config, err := ca.ServerConfig("127.0.0.1")
	if err != nil {
		tb.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: config.Certificates[0].Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestCertificate checks TLS and HTTP/2 with a certificate from files.
func TestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client := certificate(t, dir)
	c, err := serve.TLSConfig(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := newLayout(t).run(t, serve.ListenOptions{TLS: c})
	resp, err := fetch(t, client, "https://"+server.address+"/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if resp.ProtoMajor != 2 {
		t.Errorf("protocol %s", resp.Proto)
	}
	if _, err := serve.TLSConfig(filepath.Join(dir, "none.pem"), filepath.Join(dir, "key.pem"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestCertificateIsRenewed checks that a renewed certificate is used and that an
// invalid certificate is not used.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func() []byte {
		certificate(t, dir)
		data, err := os.ReadFile(certFile)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(data)
		return block.Bytes
	}
	synctest.Test(t, func(t *testing.T) {
		first := write()
		var failed []error
		c, err := serve.TLSConfig(certFile, keyFile, func(err error) { failed = append(failed, err) })
		if err != nil {
			t.Fatal(err)
		}
		uses := func(want []byte) {
			t.Helper()
			if got, err := c.GetCertificate(nil); err != nil || !bytes.Equal(got.Certificate[0], want) {
				t.Errorf("another certificate is used: %v", err)
			}
		}
		if err := os.WriteFile(certFile, []byte("half-written"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Minute)
			uses(first)
		}
		if len(failed) != 1 || !strings.Contains(failed[0].Error(), certFile) {
			t.Errorf("events: %v", failed)
		}
		second := write()
		time.Sleep(time.Minute)
		uses(second)
	})
}

// TestReady checks that a server is ready if its repositories are reachable or if it
// has cached data.
func TestReady(t *testing.T) {
	t.Parallel()
	var down error
	w := newLayout(t, func(o *serve.Options) { o.Ready = func(context.Context) error { return down } })
	w.push(t, rocket{version: "1.0.0"})
	if got := w.get(t, "/readyz"); got.Code != http.StatusOK {
		t.Errorf("got %d", got.Code)
	}
	down = errors.New("registry.example.com does not respond")
	w.clock.Forward(5 * time.Second)
	if got := w.get(t, "/readyz"); got.Code != http.StatusServiceUnavailable || strings.Contains(got.Body.String(), "example.com") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, "/healthz"); got.Code != http.StatusOK {
		t.Errorf("got %d", got.Code)
	}
	w.get(t, mirrored+"index.json")
	if got := w.get(t, "/readyz"); got.Code != http.StatusOK || got.Body.String() != `{"status":"stale"}`+"\n" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestReadyWithoutData checks that a cached failure doesn't make the server ready.
func TestReadyWithoutData(t *testing.T) {
	t.Parallel()
	w := newRegistry(t, func(o *serve.Options) {
		o.Ready = func(context.Context) error { return errors.New("registry.example.com does not respond") }
	})
	w.registry.Misbehave(registrytest.Tags, status(http.StatusServiceUnavailable), -1)
	if got := w.get(t, mirrored+"index.json"); got.Code == http.StatusOK {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := w.get(t, "/readyz"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestReadyIsShared checks that requests for the readiness and for the home page share one
// check of the repositories, because anyone can send these requests. It also checks that the
// server is ready again five seconds after a failed check.
func TestReadyIsShared(t *testing.T) {
	t.Parallel()
	var checks int
	down := errors.New("registry.example.com does not respond")
	w := newLayout(t, func(o *serve.Options) {
		o.Ready = func(context.Context) error {
			checks++
			return down
		}
	})
	for _, want := range []struct {
		code, checks int
	}{{http.StatusServiceUnavailable, 1}, {http.StatusOK, 2}} {
		for range 50 {
			if got := w.get(t, "/readyz"); got.Code != want.code {
				t.Fatalf("got %d %s", got.Code, got.Body)
			}
		}
		probe := httptest.NewRecorder()
		w.server.Probes().ServeHTTP(probe, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		if got := w.get(t, "/"); probe.Code != want.code || got.Code != http.StatusOK {
			t.Errorf("got %d and %d", probe.Code, got.Code)
		}
		if checks != want.checks {
			t.Errorf("checked %d times, want %d", checks, want.checks)
		}
		down = nil
		w.clock.Forward(5 * time.Second)
	}
}

// TestConnections checks that clients wait if the limit is exceeded.
func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, network := newLayout(t), memnet.New()
		server := w.runOn(t, network.Listen("localhost:80"), serve.ListenOptions{MaxConnections: 1})
		silent, err := network.Dial(t.Context(), "tcp", "localhost:80")
		if err != nil {
			t.Fatal(err)
		}
		// Wait until the server has accepted the connection.
		if _, err := fmt.Fprint(silent, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(silent).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		events := make(chan error, 1)
		go func() {
			_, err := fetch(t, &http.Client{Transport: &http.Transport{DialContext: network.Dial, DisableKeepAlives: true}}, "http://localhost/healthz")
			events <- err
		}()
		synctest.Wait()
		if n := len(w.finishedRequests()); n != 1 {
			t.Errorf("%d requests succeeded", n)
		}
		_ = silent.Close()
		if err := <-events; err != nil {
			t.Error(err)
		}
		server.end()
		if err := server.wait(); err != nil { // shutting down takes virtual time, which stops at the end of the test
			t.Error(err)
		}
	})
}

// TestHugeHeader checks that a large header is rejected.
func TestHugeHeader(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	server := w.run(t, serve.ListenOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.address+"/mirror/"+strings.Repeat("a", 1<<20), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return // the connection was closed while the header was being sent
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}
