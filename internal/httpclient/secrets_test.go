package httpclient_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

const echoedPassword = `p"<ä>/?+%canary-password`

// leaks reports whether text contains the password in any form.
func leaks(text string) bool {
	pair := base64.StdEncoding.EncodeToString([]byte("jane:" + echoedPassword))
	return strings.Contains(text, "canary-") || strings.Contains(text, pair[:20]) ||
		strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(echoedPassword))[:20])
}

// TestEchoedCredentials covers servers that repeat credentials in the parts of a
// response that the client quotes in errors and logs.
func TestEchoedCredentials(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"plain":       echo(http.StatusForbidden, "text/plain"),
		"JSON":        echo(http.StatusUnauthorized, "application/json"),
		"page":        echo(http.StatusNotFound, "text/html"),
		"passing":     echo(http.StatusBadGateway, "text/plain"),
		"redirect":    echo(http.StatusFound, "text/plain"),
		"status line": raw("HTTP/1.1 %s\r\n\r\n"),
		"header":      raw("HTTP/1.1 200 OK\r\n%s\r\n\r\n"),
		"chunk":       raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		"nothing":     raw("%s"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			var log traceLog
			var retried strings.Builder
			client := newClient(t, httpclient.Options{
				Trace: log.trace(), OnRetry: func(r httpclient.Retry) { fmt.Fprintf(&retried, "%+v %v\n", r, r.Cause) },
			})
			for kind, req := range requestsWith(t, server.URL) {
				resp, err := httpclient.Do(client, req)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if err == nil {
					err = httpclient.NewStatusError(resp)
				}
				if err == nil || leaks(err.Error()) {
					t.Errorf("%s: %.500v", kind, err)
				}
				_, err = httpclient.Get(t.Context(), client, req.URL, httpclient.Request{Header: req.Header, Limit: 1 << 20})
				if err != nil && leaks(err.Error()) {
					t.Errorf("%s: %.500v", kind, err)
				}
			}
			if leaks(retried.String()) {
				t.Errorf("retries: %.500s", retried.String())
			}
			if text := fmt.Sprintf("%+v %+v %+v", log.sent, log.got, log.read); leaks(text) {
				t.Errorf("trace: %.3000s", text)
			}
		})
	}
}

// requestsWith returns requests that contain the password in different places.
func requestsWith(t *testing.T, at string) map[string]*http.Request {
	t.Helper()
	form := url.Values{"password": {echoedPassword}}.Encode()
	all := map[string]*http.Request{}
	for kind, target := range map[string]string{
		"basic": at, "bearer": at, "form": at, "query": at + "?token=" + url.QueryEscape(echoedPassword),
		"userinfo": strings.Replace(at, "://", "://jane:"+url.PathEscape(echoedPassword)+"@", 1),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		switch kind {
		case "basic":
			req.SetBasicAuth("jane", echoedPassword)
		case "bearer":
			req.Header.Set("Authorization", "Bearer canary-"+strings.Repeat("x", 40))
		}
		all[kind] = req
	}
	return all
}

func echo(status int, contentType string) http.HandlerFunc {
	fault := origintest.Echo(status, contentType)
	return func(w http.ResponseWriter, r *http.Request) { fault(w, r, nil) }
}

// raw writes a response that contains the request's credentials. The response can be
// invalid.
func raw(format string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		echo(http.StatusOK, "text/plain")(recorder, r)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = fmt.Fprintf(conn, format, recorder.Body)
			_ = conn.Close()
		}
	}
}

// TestEchoInRedirect covers a redirect to a URL whose path contains the password.
// Retries report this URL.
func TestEchoInRedirect(t *testing.T) {
	t.Parallel()
	const password = "sesame-open"
	for _, retryAfter := range []string{"", "1"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, sent, _ := r.BasicAuth(); r.URL.Path == "/" {
				http.Redirect(w, r, "/login/"+sent+"/again", http.StatusFound)
				return
			}
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(server.Close)
		var retried strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		client := newClient(t, httpclient.Options{OnRetry: func(r httpclient.Retry) {
			fmt.Fprintf(&retried, "%+v %v\n", r, r.Cause)
			cancel() // skip the pause before the next attempt
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("jane", password)
		if resp, err := httpclient.Do(client, req); err == nil {
			_ = resp.Body.Close()
		}
		if text := retried.String(); !strings.Contains(text, "/login/***/again") || strings.Contains(text, password) {
			t.Errorf("retries: %q", text)
		}
	}
}

// TestEmptyCredentials checks that empty credentials do not hide ordinary text, such as every
// colon.
func TestEmptyCredentials(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://@host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("", "")
	if got := httpclient.SentWith(req).Text("reason: a"); got != "reason: a" {
		t.Errorf("%q", got)
	}
}
