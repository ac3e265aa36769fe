package serve_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// stalled is a client that doesn't read a body.
type stalled struct {
	*httptest.ResponseRecorder
	start, leave chan struct{}
}

func (s *stalled) Write([]byte) (int, error) {
	close(s.start)
	<-s.leave
	return 0, net.ErrClosed
}

// crowd is a group of clients that disconnect together.
type crowd struct {
	leave    chan struct{}
	requests sync.WaitGroup
}

// fill requests a path until a request is rejected, and returns the number of accepted
// requests.
func (c *crowd) fill(t *testing.T, server http.Handler, from, path string) (accepted int) {
	t.Helper()
	for ; ; accepted++ {
		s := &stalled{httptest.NewRecorder(), make(chan struct{}), c.leave}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr = from
		ended := make(chan struct{})
		c.requests.Go(func() {
			defer close(ended)
			server.ServeHTTP(s, r)
		})
		select {
		case <-s.start:
		case <-ended:
			if s.Code != http.StatusServiceUnavailable || s.Header().Get("Retry-After") == "" || s.Header().Get("Connection") != "close" || s.Body.Len() != 0 {
				t.Errorf("got %d %v %s", s.Code, s.Header(), s.Body)
			}
			return accepted
		}
	}
}

// TestStalledClients checks that the memory for bodies is limited, and that no client
// can use all of this memory.
func TestStalledClients(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newLayout(t)
	w.push(t, rocket{version: "1.0.0", size: 1 << 20})
	c := crowd{leave: make(chan struct{})}
	one := c.fill(t, w.server, "[2001:db8::1]:443", archive)
	if again := c.fill(t, w.server, "[2001:db8::2]:443", archive); again != 0 {
		t.Errorf("another address of the same client gets %d archives", again)
	}
	const least, most = 256, 1024 // each body uses at least 64 KiB
	all := one + c.fill(t, w.server, "192.0.2.9:443", archive)
	if one < least || one == all || all > most {
		t.Errorf("%d archives are being sent, %d of them to one client", all, one)
	}
	if got := w.get(t, mirrored+"index.json"); got.Code != http.StatusOK {
		t.Errorf("small responses: got %d", got.Code)
	}
	close(c.leave)
	c.requests.Wait()
	if got := w.get(t, archive); got.Code != http.StatusOK {
		t.Errorf("afterwards: got %d", got.Code)
	}
}

// TestStalledDocuments checks that other large responses use the same quota.
func TestStalledDocuments(t *testing.T) {
	t.Parallel()
	w := newLayout(t)
	c := crowd{leave: make(chan struct{})}
	const document, size = "/api/v1/openapi.json", 32 << 10
	if got := w.get(t, document); got.Body.Len() < size {
		t.Fatalf("the document has only %d bytes", got.Body.Len())
	}
	if n := c.fill(t, w.server, "192.0.2.1:443", document); n > 64<<20/size {
		t.Errorf("%d documents are being sent", n)
	}
	close(c.leave)
	c.requests.Wait()
}

// TestStalledStreams checks that a request counts toward the limit until its response
// is read, regardless of the number of requests on a connection.
func TestStalledStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate(t, dir)
	w := newLayout(t)
	c, err := serve.TLSConfig(dir+"/cert.pem", dir+"/key.pem", nil)
	if err != nil {
		t.Fatal(err)
	}
	server := w.run(t, serve.ListenOptions{TLS: c, MaxConnections: 2}) // one address can use one of the two connections
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, framer, 1); got != "200" {
		t.Errorf("first request: got %s", got)
	}
	if got := statusOf(t, framer, 3); got != "503" {
		t.Errorf("second request: got %s", got)
	}
	// Probes are not limited.
	probe := httptest.NewRecorder()
	w.server.Probes().ServeHTTP(probe, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
	if probe.Code != http.StatusOK {
		t.Errorf("the probe: got %d", probe.Code)
	}
}

// statusOf sends a request on a stream, and returns the status of the response.
func statusOf(t *testing.T, framer *http2.Framer, stream uint32) string {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for name, value := range map[string]string{":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": "/healthz"} {
		if err := encoder.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok && headers.StreamID == stream {
			return headers.PseudoValue("status")
		}
	}
}

// pipes is a listener whose connections have arbitrary client addresses.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

type addressed struct {
	net.Conn
	from net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.from }

// responds connects from an address, and reports whether the server responds. The connection
// stays open.
func (p pipes) responds(t *testing.T, from string) bool {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	p <- addressed{theirs, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
	_, _ = io.WriteString(ours, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	n, _ := ours.Read(make([]byte, 1))
	return n == 1
}

// TestConnectionsPerAddress checks that only a trusted proxy can use all connections.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		life      serve.ListenOptions
		from      []string
		connected []bool
	}{
		"default":      {serve.ListenOptions{MaxConnections: 4}, []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.1:4", "192.0.2.2:1"}, []bool{true, true, true, false, true}},
		"as specified": {serve.ListenOptions{MaxConnections: 4, MaxPerAddress: 1}, []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:2"}, []bool{true, false, true}},
		"one network":  {serve.ListenOptions{MaxConnections: 4, MaxPerAddress: 1}, []string{"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8:0:1::1]:1"}, []bool{true, false, true}},
		"a proxy":      {serve.ListenOptions{MaxConnections: 2}, []string{"10.0.0.1:1", "10.0.0.1:2"}, []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLayout(t, func(o *serve.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
			l, eventsMu := make(pipes), make(chan string, len(test.from))
			test.life.OnConnectionError, test.life.Grace = func(text string) { eventsMu <- text }, time.Millisecond
			go func() { _ = w.server.Run(t.Context(), l, test.life) }()
			for i, from := range test.from {
				if got := l.responds(t, from); got != test.connected[i] {
					t.Errorf("%s: got a response: %t, want %t", from, got, test.connected[i])
				}
				if !test.connected[i] {
					<-eventsMu
				}
			}
		})
	}
}
