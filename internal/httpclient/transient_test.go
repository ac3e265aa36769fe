package httpclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestIsTransient(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want bool
	}{
		"nil":              {nil, false},
		"reset":            {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"refused":          {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		"early end":        {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		"reset in a write": {fmt.Errorf("x: %w", net.ErrClosed), true},
		"timeout":          {&net.DNSError{IsTimeout: true}, true},
		"no such host":     {&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false},
		"TLS alert":        {&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, false},
		"untrusted":        {&tls.CertificateVerificationError{Err: errors.New("x")}, false},
		"canceled":         {context.Canceled, false},
		"caller's timeout": {fmt.Errorf("x: %w", context.DeadlineExceeded), false},
		"status":           {&provider.StatusError{Status: 429, RetryAfter: time.Minute}, true},
		"status, long":     {&provider.StatusError{Status: 429, RetryAfter: time.Hour}, false},
		"status, again":    {&provider.StatusError{Status: 503, Tries: 3}, false},
		"not found":        {&provider.StatusError{Status: 404}, false},
		"exhausted":        {&provider.TransientError{Tries: 3, Err: io.ErrUnexpectedEOF}, false},
		"other":            {errors.New("wrong bytes"), false},
	}
	for name, test := range tests {
		if got := httpclient.IsTransient(test.err); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestHTTP2StreamErrorIsTransient(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // RST_STREAM with INTERNAL_ERROR
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	resp, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	if resp.ProtoMajor != 2 || !httpclient.IsTransient(err) {
		t.Errorf("%s: got %v", resp.Proto, err)
	}
}
