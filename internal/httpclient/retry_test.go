package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestTransientErrorsAreRetried(t *testing.T) {
	t.Parallel()
	faults := map[string]http.HandlerFunc{"reset": reset, "body breaks off": breakOff}
	for _, code := range []int{408, 429, 500, 502, 503, 504} {
		faults[fmt.Sprint(code)] = status(code)
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, fault, fault, respond("fine"))
			got, err := get(t, newClient(t, httpclient.Options{}), s.url(t))
			if got != "fine" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if s.requests() != 3 {
				t.Errorf("%d requests, want 3", s.requests())
			}
		})
	}
}

func TestPersistentErrorsEndAfterThreeTries(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		steps []http.HandlerFunc
		want  string
	}{
		"status":          {[]http.HandlerFunc{status(503)}, "GET %s: 503 Service Unavailable after 3 tries: no [31m luck today"},
		"body breaks off": {[]http.HandlerFunc{breakOff}, "after 3 tries: GET %s: response interrupted"},
		// The transport's attempts and the body's attempts share a limit.
		"mixed": {[]http.HandlerFunc{status(503), breakOff, status(502)}, "GET %s: 502 Bad Gateway after 3 tries: no [31m luck today"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, test.steps...)
			_, err := get(t, newClient(t, httpclient.Options{}), s.url(t))
			if diff := cmp.Diff(fmt.Sprintf(test.want, s.URL), fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if s.requests() != httpclient.MaxTries {
				t.Errorf("%d requests", s.requests())
			}
			if httpclient.IsTransient(err) {
				t.Error("what was repeated in vain must not be repeated above")
			}
		})
	}
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	s := newScript(t, respond("gone"))
	s.Close()
	_, err := get(t, newClient(t, httpclient.Options{}), parse(t, s.URL+"/x?secret=1"))
	var exhausted *provider.TransientError
	if !errors.As(err, &exhausted) || exhausted.Tries != 3 {
		t.Errorf("want an provider.TransientError of 3 tries, got %v", err)
	}
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("the query is in the text: %v", err)
	}
}

func TestPermanentErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	tests := map[string]http.HandlerFunc{
		"400": status(400), "401": status(401), "403": status(403), "404": status(404),
		"long Retry-After": status(429, "Retry-After", "61"),
	}
	for name, step := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, step)
			_, err := get(t, newClient(t, httpclient.Options{}), s.url(t))
			var failure *provider.StatusError
			if !errors.As(err, &failure) || httpclient.IsTransient(err) {
				t.Errorf("want a provider.StatusError that is final, got %v", err)
			}
			if s.requests() != 1 {
				t.Errorf("%d requests", s.requests())
			}
		})
	}
}

// network is an http.RoundTripper that calls a function.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(req *http.Request) (*http.Response, error) { return n(req) }
func (n network) CloseIdleConnections()                               {}

// TestResponseAfterCancellation checks that a response is not used if the server ends
// it normally after the client has disconnected.
func TestResponseAfterCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	leave := network(func(*http.Request) (*http.Response, error) {
		cancel()
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://registry.example/v2/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpclient.NewOver(leave, httpclient.Options{}).Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestLongRetryAfterIsReported(t *testing.T) {
	t.Parallel()
	s := newScript(t, status(429, "Retry-After", "120"))
	_, err := get(t, newClient(t, httpclient.Options{}), s.url(t))
	want := "GET " + s.URL + ": 429 Too Many Requests (Retry-After: 120s): no [31m luck today"
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestUntrustedCertificatesAreNotRepeated(t *testing.T) {
	t.Parallel()
	conns := 0
	s := httptest.NewUnstartedServer(respond("hello"))
	s.Config.ErrorLog = discardLog()
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns++ // only one goroutine accepts connections
		}
	}
	s.StartTLS()
	_, err := get(t, newClient(t, httpclient.Options{}), parse(t, s.URL))
	s.Close()
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
	if conns != 1 {
		t.Errorf("%d connections, want 1", conns)
	}
}

// retried records the calls of OnRetry. It cancels the context so that tests do not
// wait.
type retried struct {
	mu  sync.Mutex
	all []httpclient.Retry
	end context.CancelFunc
}

func (r *retried) note(x httpclient.Retry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
	if r.end != nil {
		r.end()
	}
}

func TestRetryAfterIsHonoredInFull(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header func() string
		want   time.Duration
	}{
		"seconds": {func() string { return "60" }, 60 * time.Second},
		"date":    {func() string { return time.Now().Add(50 * time.Second).UTC().Format(http.TimeFormat) }, 50 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New()
				s := newScriptOn(t, network, "localhost:80", status(429, "Retry-After", test.header()), respond("fine"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				notes := &retried{end: cancel}
				client := newClient(t, httpclient.Options{Dial: network.Dial, OnRetry: notes.note})
				_, err := httpclient.Get(ctx, client, s.url(t), httpclient.Request{Limit: 9})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v from a canceled wait", err)
				}
				if len(notes.all) != 1 || notes.all[0].Wait != test.want {
					t.Errorf("got retries %+v", notes.all)
				}
				if s.requests() != 1 {
					t.Errorf("%d requests", s.requests())
				}
			})
		})
	}
}

func TestRetriesAreReported(t *testing.T) {
	t.Parallel()
	s := newScript(t, status(503), breakOff, respond("fine"))
	notes := &retried{}
	u := parse(t, strings.Replace(s.URL, "http://", "http://me:secret@", 1)+"/a?sig=secret")
	if _, err := get(t, newClient(t, httpclient.Options{OnRetry: notes.note}), u); err != nil {
		t.Fatal(err)
	}
	type retryNote struct {
		Method, URL, Cause string
		Attempt, Of        int
	}
	var got []retryNote
	for _, n := range notes.all {
		if n.Wait <= 0 {
			t.Errorf("no wait in %+v", n)
		}
		got = append(got, retryNote{n.Method, n.URL, n.Cause.Error(), n.Attempt, n.Of})
	}
	at := s.URL + "/a"
	want := []retryNote{
		{"GET", at, "GET " + at + ": 503 Service Unavailable: no [31m luck today", 1, 3},
		{"GET", at, "GET " + at + ": response interrupted", 2, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRetriesRequireRereadableBodies(t *testing.T) {
	t.Parallel()
	var got []string
	record := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = append(got, string(body))
			next(w, r)
		}
	}
	s := newScript(t, record(status(503, "Retry-After", "7")), record(respond("fine")))
	client := newClient(t, httpclient.Options{})

	once := struct{ io.Reader }{strings.NewReader("body")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/x?sig=secret", once)
	if err != nil {
		t.Fatal(err)
	}
	_, err = httpclient.Do(client, req)
	var failure *provider.StatusError
	if !errors.As(err, &failure) || !httpclient.IsTransient(err) {
		t.Fatalf("want a provider.StatusError that may pass, got %v", err)
	}
	want := provider.StatusError{
		Method: "PUT", URL: s.URL + "/x", Status: 503, Body: "no [31m luck today", RetryAfter: 7 * time.Second,
	}
	if diff := cmp.Diff(want, *failure); diff != "" {
		t.Error(diff)
	}

	s = newScript(t, record(reset), record(status(500)), record(respond("fine")))
	req, err = http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL, strings.NewReader("again"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpclient.Do(client, req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if diff := cmp.Diff([]string{"body", "again", "again", "again"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	for failed, base := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 50: 30 * time.Second,
	} {
		if got := httpclient.Backoff(failed); got < base || got > base*3/2 {
			t.Errorf("Backoff(%d) = %s, want between %s and half as much again", failed, got, base)
		}
	}
}

// TestPauseRespectsRetryAfter checks that Retry-After applies if it is longer than the
// client's pause. It also checks that a host's pause is not reported again.
func TestPauseRespectsRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause    error
		least    time.Duration
		reported int
	}{
		"Retry-After":      {&provider.StatusError{Status: 429, RetryAfter: time.Minute}, time.Minute, 0},
		"Retry-After, 503": {&provider.StatusError{Status: 503, RetryAfter: time.Minute}, time.Minute, 0},
		"a 503 without it": {&provider.StatusError{Status: 503}, 2 * time.Second, 1},
		"no Retry-After":   {io.ErrUnexpectedEOF, 2 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				notes := &retried{}
				client := newClient(t, httpclient.Options{FirstWait: time.Second, OnRetry: notes.note})
				began := time.Now()
				err := httpclient.Pause(t.Context(), client, parse(t, "https://example.com/zip?sig=secret"), 2, test.cause)
				if took := time.Since(began); err != nil || took < test.least || took > test.least*3/2 {
					t.Errorf("%v after %s", err, took)
				}
				if len(notes.all) != test.reported {
					t.Errorf("got retries %+v", notes.all)
				}
				for _, note := range notes.all {
					if note.URL != "https://example.com/zip" || note.Attempt != 2 || !errors.Is(note.Cause, test.cause) {
						t.Errorf("got retries %+v", note)
					}
				}
			})
		})
	}
}
