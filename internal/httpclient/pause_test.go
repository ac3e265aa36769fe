package httpclient_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
)

// newThrottled returns a server that responds with 429 if enough returns true. The
// arguments of enough are the number of earlier requests and the number of concurrent
// requests. The first wave contains as many requests as a client sends concurrently.
func newThrottled(t *testing.T, network *memnet.Network, enough func(before, concurrent int) bool) *script {
	t.Helper()
	var mu sync.Mutex
	before, now := 0, 0
	wave := make(chan struct{})
	return newScriptOn(t, network, "localhost:80", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		refused := enough(before, now)
		before, now = before+1, now+1
		if before == schedule.MaxRequestsToHost {
			close(wave)
		}
		mu.Unlock()
		<-wave
		if refused {
			w.WriteHeader(http.StatusTooManyRequests)
		} else {
			_, _ = io.WriteString(w, "fine")
		}
		mu.Lock()
		defer mu.Unlock()
		now--
	})
}

// TestThrottlingHost checks that the client sends fewer concurrent requests to a host
// that limits them. The client must also wait for a host that is unavailable. All
// requests succeed eventually, and each pause is reported once.
func TestThrottlingHost(t *testing.T) {
	t.Parallel()
	const atOnce = schedule.MaxRequestsToHost
	for name, test := range map[string]struct {
		requests int
		enough   func(before, concurrent int) bool
	}{
		"of many at once": {4 * atOnce, func(_, concurrent int) bool { return concurrent > 1 }},
		// On average, each request fails more than twice. A failed wave must not count
		// as an attempt of every request.
		"of all": {atOnce, func(before, _ int) bool { return before < 5*atOnce/2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				s := newThrottled(t, network, test.enough)
				notes := &retried{}
				client := newClient(t, httpclient.Options{Dial: network.Dial, OnRetry: notes.note})
				var group sync.WaitGroup
				for range test.requests {
					group.Go(func() {
						if got, err := get(t, client, s.url(t)); got != "fine" || err != nil {
							t.Errorf("%q, %v", got, err)
						}
					})
				}
				group.Wait()
				for _, note := range notes.all {
					if note.Host != s.url(t).Host {
						t.Errorf("got retries %+v", note)
					}
				}
				const wave = atOnce - 2 // one request of the wave is reported
				refused := s.requests() - test.requests
				if reported := len(notes.all); refused < wave || reported == 0 || reported > refused-wave+1 {
					t.Errorf("%d pauses reported for %d rejected requests", reported, refused)
				}
			})
		})
	}
}

// TestPauseIsForAll checks that a paused host receives no requests, including range
// requests. Other hosts still receive requests.
func TestPauseIsForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, pauseIsForAll)
}

func pauseIsForAll(t *testing.T) {
	network := memnet.New()
	s := newScriptOn(t, network, "localhost:80", status(429, "Retry-After", "60"), respond("fine"))
	other := newScriptOn(t, network, "localhost:81", respond("fine"))
	paused := make(chan httpclient.Retry, 1)
	client := newClient(t, httpclient.Options{Dial: network.Dial, OnRetry: func(r httpclient.Retry) { paused <- r }})
	ends := make(chan error)
	ask := func(headers ...string) (cancel func()) {
		req, cancel := request(t, s.URL, headers...)
		go func() {
			resp, err := httpclient.Do(client, req)
			if err == nil {
				_ = resp.Body.Close()
			}
			ends <- err
		}()
		return cancel
	}
	canceled := []func(){ask()}
	if pause := <-paused; pause.Host != s.url(t).Host || pause.Wait.Seconds() != 60 {
		t.Errorf("got retries %+v", pause)
	}
	canceled = append(canceled, ask(), ask("Range", "bytes=0-1"))
	if got, err := get(t, client, other.url(t)); got != "fine" || err != nil {
		t.Errorf("another host: %q, %v", got, err)
	}
	synctest.Wait() // until all requests wait for the end of the pause
	for _, cancel := range canceled {
		cancel()
		if err := <-ends; err == nil {
			t.Error("answered in a pause")
		}
	}
	if s.requests() != 1 {
		t.Errorf("%d requests", s.requests())
	}
}

// TestLastTryIsExclusive lets many requests fail twice. It checks that no other request
// is in progress during a third attempt.
func TestLastTryIsExclusive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, lastTryIsExclusive)
}

func lastTryIsExclusive(t *testing.T) {
	network := memnet.New()
	var mu sync.Mutex
	tries := map[string]int{}
	now, most, concurrent := 0, 0, 0
	s := newScriptOn(t, network, "localhost:80", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		tries[r.URL.Path]++
		last := tries[r.URL.Path] == httpclient.MaxTries
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Second) // let all other requests arrive
		mu.Lock()
		if last && now > 1 {
			concurrent++
		}
		now--
		mu.Unlock()
		if last {
			w.Header().Set("Connection", "close") // net/http itself retries on reused connections
			_, _ = io.WriteString(w, "fine")
			return
		}
		reset(w, r)
	})
	client := newClient(t, httpclient.Options{Dial: network.Dial})
	var group sync.WaitGroup
	for i := range 2 * schedule.MaxRequestsToHost {
		group.Go(func() {
			if got, err := get(t, client, parse(t, fmt.Sprintf("%s/%d", s.URL, i))); got != "fine" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
	if concurrent != 0 || most != schedule.MaxRequestsToHost {
		t.Errorf("%d last attempts had concurrent requests, at most %d", concurrent, most)
	}
}

// closed is a network with a host that always limits requests.
type closed struct {
	mu   sync.Mutex
	sent int
}

func (c *closed) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"60"}}, Body: http.NoBody, Request: req,
	}, nil
}

func (c *closed) CloseIdleConnections() {}

// TestHostThrottlesForever checks that a run ends regardless of the number of requests,
// and that callers do not retry.
func TestHostThrottlesForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requests = 1000
		network, began := &closed{}, time.Now()
		client := httpclient.NewOver(network, httpclient.Options{FirstWait: time.Second})
		var group sync.WaitGroup
		for i := range requests {
			group.Go(func() {
				ctx := t.Context()
				if i%2 == 1 {
					ctx = httpclient.WithoutRetry(ctx)
				}
				_, err := httpclient.Get(ctx, client, parse(t, "https://example.com/"), httpclient.Request{})
				if httpclient.IsLimit(err) && i%2 == 0 && httpclient.IsTransient(err) {
					t.Errorf("got %v", err)
				}
				if !httpclient.IsLimit(err) {
					t.Errorf("got %v", err)
				}
			})
		}
		group.Wait()
		if took := time.Since(began); took > 4*time.Minute || network.sent > 2*requests {
			t.Errorf("%d requests in %s", network.sent, took)
		}
	})
}
