package httpclient_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

func TestNewRefusesUselessCAFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		empty:                         "no PEM certificate found",
		filepath.Join(dir, "missing"): "reading CA certificates",
	} {
		_, err := httpclient.New(httpclient.Options{CAFile: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
}

// caFile writes the server's certificate to a file.
func caFile(t *testing.T, s *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCAFileWithHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s for %s", r.Proto, r.UserAgent())
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	got, err := get(t, newClient(t, httpclient.Options{CAFile: caFile(t, s)}), parse(t, s.URL))
	if got != "HTTP/2.0 for tofu-oci" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	half := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "12345")
		w.(http.Flusher).Flush()
		hang(w, r)
	}
	for name, step := range map[string]http.HandlerFunc{"before the answer": hang, "in the body": half} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				s := newScriptOn(t, network, "localhost:80", step)
				_, err := get(t, newClient(t, httpclient.Options{Timeout: 90 * time.Second, Dial: network.Dial}), s.url(t))
				if err == nil || !strings.HasSuffix(err.Error(), "no data received for 90s") {
					t.Errorf("got %v", err)
				}
				if !errors.Is(err, os.ErrDeadlineExceeded) || s.requests() != 3 {
					t.Errorf("%v after %d requests", err, s.requests())
				}
			})
		})
	}
}

// TestSlowServers checks that servers that send a byte a second can't hold a run, and
// that slow connections and slow callers can take any time.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	drip := func(text string, pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(1000*len(text)))
			for range 1000 {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(pause):
				}
				_, _ = io.WriteString(w, text)
				w.(http.Flusher).Flush()
			}
		}
	}
	header := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		for err == nil {
			_, err = io.WriteString(conn, "H")
			time.Sleep(time.Second)
		}
	}
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want string
	}{
		"in the header": {header, "after 3 tries: no complete response header received in 61s"},
		"in the body":   {drip("x", time.Second), "less than 6100 bytes received in 61s"},
		"a slow link":   {drip(strings.Repeat("x", 200), time.Second), ""},
		"pauses":        {drip(strings.Repeat("x", 6100), 59*time.Second), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				s := newScriptOn(t, network, "localhost:80", test.step)
				client := newClient(t, httpclient.Options{Timeout: time.Minute, Dial: network.Dial})
				resp, err := client.Get(s.url(t).String())
				if err == nil {
					_, err = io.Copy(io.Discard, pausing{resp.Body})
					_ = resp.Body.Close()
				}
				if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				client.CloseIdleConnections()
				time.Sleep(time.Minute) // the server notices that the client has closed the connection
			})
		})
	}
}

// TestDialTimeout checks that a timeout of the dialer isn't reported as a slow response.
func TestDialTimeout(t *testing.T) {
	t.Parallel()
	expired := &net.Dialer{Deadline: time.Unix(1, 0)}
	client := newClient(t, httpclient.Options{Dial: expired.DialContext})
	resp, err := client.Get("http://127.0.0.1:1")
	if err == nil {
		_ = resp.Body.Close()
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || !strings.HasSuffix(err.Error(), "i/o timeout") {
		t.Errorf("got %v", err)
	}
}

// pausing is a reader whose caller pauses longer than any timeout.
type pausing struct{ io.Reader }

func (p pausing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b[:min(len(b), 10_000)])
	if n == 10_000 {
		time.Sleep(time.Hour)
	}
	return n, err
}

// TestHandshakeTimeout covers a server that never responds to a TLS handshake.
func TestHandshakeTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{
		5 * time.Second: 5 * time.Second, httpclient.DefaultTimeout: 15 * time.Second, 2 * time.Minute: 30 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			network, began := memnet.New(), time.Now()
			listener := network.Listen("localhost:443")
			t.Cleanup(func() { _ = listener.Close() })
			go func() { _, _ = listener.Accept() }()
			client := newClient(t, httpclient.Options{Timeout: timeout, Dial: network.Dial})
			_, err := httpclient.Get(httpclient.WithoutRetry(t.Context()), client, parse(t, "https://localhost/"), httpclient.Request{})
			if took := time.Since(began); err == nil || took != want {
				t.Errorf("%v after %s, want %s", err, took, want)
			}
		})
	}
}

// dripping is an upload that sends one byte every 5 seconds.
type dripping struct{ left int }

func (d *dripping) Read(b []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(5 * time.Second)
	d.left--
	b[0] = 'x'
	return 1, nil
}

func TestUploadExtendsIdleDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New()
		s := newScriptOn(t, network, "localhost:80", func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n, err)
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL, &dripping{left: 30})
		if err != nil {
			t.Fatal(err)
		}
		// The client starts waiting for the response 150 s before the upload ends.
		resp, err := httpclient.Do(newClient(t, httpclient.Options{Timeout: time.Minute, Dial: network.Dial}), req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); string(got) != "30 <nil>" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestIdlePooledConnectionIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, closed := memnet.New(), make(chan struct{})
		s := &httptest.Server{Listener: network.Listen("localhost:80"), Config: &http.Server{Handler: respond("fine")}}
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- struct{}{}
			}
		}
		s.Start()
		t.Cleanup(s.Close)
		notes := &retried{}
		client := newClient(t, httpclient.Options{Timeout: time.Minute, Dial: network.Dial, OnRetry: notes.note})
		for range 3 {
			began := time.Now()
			if got, err := get(t, client, parse(t, s.URL)); got != "fine" || err != nil {
				t.Fatalf("got %q, %v", got, err)
			}
			if <-closed; time.Since(began) != 30*time.Second {
				t.Errorf("closed after %s", time.Since(began))
			}
		}
		if len(notes.all) > 0 {
			t.Errorf("an expired connection was used: %+v", notes.all)
		}
	})
}

func TestContextCancelsRequest(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := newScript(t, func(w http.ResponseWriter, r *http.Request) { close(arrived); hang(w, r) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := httpclient.Get(ctx, newClient(t, httpclient.Options{}), s.url(t), httpclient.Request{Limit: 9})
	if !errors.Is(err, context.Canceled) || s.requests() != 1 {
		t.Errorf("%v after %d requests", err, s.requests())
	}
}

// TestDedicatedConnection checks that concurrent HTTP/2 requests share a connection
// unless they require dedicated connections.
func TestDedicatedConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of    func(context.Context) context.Context
		proto string
		want  int
	}{
		"together": {func(ctx context.Context) context.Context { return ctx }, "HTTP/2.0", 1},
		"apart":    {httpclient.WithDedicatedConnection, "HTTP/1.1", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all, both sync.WaitGroup
			both.Add(2)
			var mu sync.Mutex
			from := map[string]bool{}
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				from[r.RemoteAddr] = true
				mu.Unlock()
				if r.URL.Path != "/first" {
					both.Done()
					both.Wait() // ensure that both requests are in progress
				}
				fmt.Fprint(w, r.Proto)
			}))
			s.EnableHTTP2 = true
			s.StartTLS()
			t.Cleanup(s.Close)
			client := newClient(t, httpclient.Options{CAFile: caFile(t, s)})
			// The first request opens a connection that further requests can share.
			if _, err := get(t, client, parse(t, s.URL+"/first")); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				all.Go(func() {
					doc, err := httpclient.Get(test.of(t.Context()), client, parse(t, s.URL), httpclient.Request{Limit: 99})
					if string(doc.Bytes) != test.proto || err != nil {
						t.Errorf("got %q, %v", doc.Bytes, err)
					}
				})
			}
			all.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(from) != test.want {
				t.Errorf("%d connections, not %d", len(from), test.want)
			}
		})
	}
}
