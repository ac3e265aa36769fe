package httpclient_test

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// script is a server that handles each request with the next step. The last step
// handles all further requests.
type script struct {
	*httptest.Server
	mu    sync.Mutex
	seen  int
	steps []http.HandlerFunc
}

func newScript(t *testing.T, steps ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// newScriptOn is like [newScript], but the server has the given address in a network
// that works in a testing/synctest bubble.
func newScriptOn(t *testing.T, network *memnet.Network, address string, steps ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{steps: steps}
	s.Server = &httptest.Server{Listener: network.Listen(address), Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	step := s.steps[min(s.seen, len(s.steps)-1)]
	s.seen++
	s.mu.Unlock()
	step(w, r)
}

func (s *script) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *script) url(t *testing.T) *url.URL {
	t.Helper()
	return parse(t, s.URL)
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func respond(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// status responds with a status code. The headers are pairs of names and values.
func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "no\x1b[31m luck\n today")
	}
}

// reset resets the connection and sends no response.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(interface{ SetLinger(seconds int) error }).SetLinger(0)
	_ = conn.Close()
}

// breakOff announces ten bytes, sends five, and closes the connection.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "10")
	_, _ = io.WriteString(w, "12345")
}

// hang waits until the client disconnects. It first reads the body, because the server
// detects disconnects only after reading the body.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func newClient(t *testing.T, o httpclient.Options) *http.Client {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, patience.Limit)
	o.FirstWait = cmp.Or(o.FirstWait, time.Microsecond)
	client, err := httpclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func get(t *testing.T, client *http.Client, u *url.URL) (string, error) {
	t.Helper()
	doc, err := httpclient.Get(t.Context(), client, u, httpclient.Request{Limit: 1 << 20})
	return string(doc.Bytes), err
}

// request returns a GET request. The headers are pairs of names and values.
func request(t *testing.T, url string, headers ...string) (*http.Request, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req, cancel
}
