package httpclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// traceLog records the events of a trace.
type traceLog struct {
	mu   sync.Mutex
	sent []httpclient.RequestEvent
	got  []httpclient.ResponseEvent
	read []httpclient.BodyEvent
}

func (l *traceLog) trace() *httpclient.Trace {
	return &httpclient.Trace{
		OnRequest:  func(s httpclient.RequestEvent) { l.mu.Lock(); defer l.mu.Unlock(); l.sent = append(l.sent, s) },
		OnResponse: func(a httpclient.ResponseEvent) { l.mu.Lock(); defer l.mu.Unlock(); l.got = append(l.got, a) },
		OnBody:     func(r httpclient.BodyEvent) { l.mu.Lock(); defer l.mu.Unlock(); l.read = append(l.read, r) },
	}
}

var noClocks = cmpopts.IgnoreFields(httpclient.RequestEvent{}, "Waited")

// TestTrace checks that each attempt and each hop is reported without secrets.
func TestTrace(t *testing.T) {
	t.Parallel()
	tries := 0
	large := strings.Repeat("x", httpclient.MaxAhead+1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/first":
			if tries++; tries == 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			http.Redirect(w, r, "/v2/acme/x/blobs/uploads/canary-state?_state=canary", http.StatusTemporaryRedirect)
		case "/large":
			_, _ = io.WriteString(w, large)
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://jane:canary@auth.example/token?canary=1",service="s",scope="repository:x:pull",hint="canary"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	var log traceLog
	client := newClient(t, httpclient.Options{Trace: log.trace()})
	for _, path := range []string{"/first?token=canary", "/large"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer canary")
		resp, err := httpclient.Do(client, req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	at := server.URL
	want := []httpclient.RequestEvent{
		{Number: 1, Method: "GET", URL: at + "/first", Scheme: "Bearer", Try: 1},
		{Number: 2, Method: "GET", URL: at + "/first", Scheme: "Bearer", Try: 2},
		{Number: 3, Method: "GET", URL: at + "/v2/acme/x/blobs/uploads/***", Scheme: "Bearer", Try: 1},
		{Number: 4, Method: "GET", URL: at + "/large", Scheme: "Bearer", Try: 1},
	}
	if diff := cmp.Diff(want, log.sent, noClocks); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
	answers := []httpclient.ResponseEvent{
		{Number: 1, Status: 502, Protocol: "HTTP/1.1"},
		{Number: 2, Status: 307, Protocol: "HTTP/1.1", Location: at + "/v2/acme/x/blobs/uploads/***"},
		{Number: 3, Status: 401, Protocol: "HTTP/1.1", Challenge: "Bearer realm=https://auth.example/token service=s scope=repository:x:pull"},
		{Number: 4, Status: 200, Protocol: "HTTP/1.1"},
	}
	if diff := cmp.Diff(answers, log.got, cmpopts.IgnoreFields(httpclient.ResponseEvent{}, "After", "Size", "Type")); diff != "" {
		t.Errorf("answers (-want +got)\n%s", diff)
	}
	if len(log.read) != 1 || log.read[0].Number != 4 || log.read[0].Bytes != int64(len(large)) || log.read[0].Err != nil || log.read[0].After < log.got[3].After {
		t.Errorf("bodies: %+v", log.read)
	}
}

// TestTraceFailures covers requests without a response, and incomplete bodies.
func TestTraceFailures(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "200000")
		_, _ = io.WriteString(w, "x")
	}))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	var log traceLog
	client := newClient(t, httpclient.Options{Trace: log.trace()})
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if len(log.read) != 1 || err == nil || log.read[0].Err == nil || log.read[0].Bytes != 1 {
		t.Errorf("%v, bodies %+v", err, log.read)
	}
	if resp, err := client.Get(gone.URL); err == nil {
		_ = resp.Body.Close()
		t.Error("a closed body can be read")
	}
	if len(log.sent) != 1+httpclient.MaxTries || len(log.got) != len(log.sent) {
		t.Fatalf("%d requests, %d answers", len(log.sent), len(log.got))
	}
	for _, a := range log.got[1:] {
		if a.Err == nil || a.Status != 0 || errors.Is(a.Err, io.EOF) {
			t.Errorf("%+v", a)
		}
	}
}

// TestTraceHidesTokensInPaths checks that the trace hides tokens, but shows names,
// versions, digests, and files.
