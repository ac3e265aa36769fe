package httpclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// crowd is a server that counts concurrent requests. It responds when it has received
// the maximum number of requests.
type crowd struct {
	*httptest.Server
	client *http.Client

	mu        sync.Mutex
	now, most int
	full      chan struct{}
}

func newCrowd(t *testing.T, allowed int) *crowd {
	t.Helper()
	c := &crowd{full: make(chan struct{})}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		if c.now++; c.now > c.most {
			if c.most = c.now; c.most == allowed {
				close(c.full)
			}
		}
		c.mu.Unlock()
		select {
		case <-c.full:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, r.URL.Path)
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	}))
	t.Cleanup(c.Close)
	c.client = newClient(t, httpclient.Options{})
	return c
}

// TestConcurrentRequests checks that the number of concurrent requests to a host reaches
// the limit, but does not exceed it.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, schedule.MaxRequestsToHost)
	var group sync.WaitGroup
	for range 4 * schedule.MaxRequestsToHost {
		group.Go(func() {
			resp, err := c.client.Get(c.URL + "/document")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "/document" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	group.Wait()
	if c.most != schedule.MaxRequestsToHost {
		t.Errorf("%d requests at once", c.most)
	}
}

// TestRequestsWhileBodiesWait checks that unread responses and large uploads occupy no
// slots, so that other requests can be sent.
func TestRequestsWhileBodiesWait(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", schedule.MaxSmall+1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		_, _ = io.WriteString(w, large)
	}))
	t.Cleanup(server.Close)
	client := newClient(t, httpclient.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	const many = schedule.MaxRequests + 1
	sending := make(chan struct{}, many)
	for range many {
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		group.Go(func() {
			body := &stuck{ctx: ctx, began: sending}
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, body)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = int64(len(large))
			if resp, err := client.Do(req); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
				if err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	for range many {
		<-sending
	}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestPartsNeedNoSlot checks that an interrupted download can be resumed while small
// uploads occupy all slots.
func TestPartsNeedNoSlot(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(server.Close)
	client := newClient(t, httpclient.Options{})
	var group sync.WaitGroup
	for range 2 * schedule.MaxRequestsToHost {
		group.Go(func() {
			body := &resumed{ask: func() error {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
				if err != nil {
					return err
				}
				req.Header.Set("Range", "bytes=1-")
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				return resp.Body.Close()
			}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = 1
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	group.Wait()
}

// resumed is a body of one byte. The byte becomes available after a second request was
// sent.
type resumed struct {
	ask  func() error
	done bool
}

func (r *resumed) Read(p []byte) (int, error) {
	if r.done || len(p) == 0 {
		return 0, io.EOF
	}
	if err := r.ask(); err != nil {
		return 0, err
	}
	r.done, p[0] = true, 'x'
	return 1, io.EOF
}

// stuck is a body that signals its first read and never returns data.
type stuck struct {
	ctx   context.Context //nolint:containedctx // readers have no context parameter
	once  sync.Once
	began chan<- struct{}
}

func (s *stuck) Read([]byte) (int, error) {
	s.once.Do(func() { s.began <- struct{}{} })
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// TestTruncatedShortResponse checks that a response that was read ahead returns the
// same error as the connection.
func TestTruncatedShortResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "the beginning")
	}))
	t.Cleanup(server.Close)
	client := newClient(t, httpclient.Options{})
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if _, err := io.Copy(&text, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || text.String() != "the beginning" {
		t.Errorf("%q, %v", text.String(), err)
	}
}
