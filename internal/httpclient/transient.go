package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// IsTransient reports whether an operation that failed with err can be retried from the
// start by a caller that can read its data again: after resets, incomplete bodies,
// timeouts, and temporary statuses. It returns false for errors after failed retries
// (*[provider.TransientError]), canceled contexts, certificate errors, and wrong
// content.
func IsTransient(err error) bool {
	var exhausted *provider.TransientError
	if errors.As(err, &exhausted) {
		return false
	}
	var passes *RetryableError
	if errors.As(err, &passes) {
		return true
	}
	var status *provider.StatusError
	if errors.As(err, &status) {
		return isTransientStatus(status.Status) && status.Tries < MaxTries && status.RetryAfter <= MaxRetryAfter
	}
	return isTransientError(err)
}

// RetryableError marks an error as retryable, because the next attempt will be
// different.
type RetryableError struct{ Err error }

func (e *RetryableError) Error() string { return e.Err.Error() }

// Unwrap returns the marked error.
func (e *RetryableError) Unwrap() error { return e.Err }

// IsLimit reports whether err is the response of a server that limits requests.
func IsLimit(err error) bool {
	var status *provider.StatusError
	return errors.As(err, &status) && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable)
}

// isTransientStatus reports whether a status is temporary.
func isTransientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isTransientError reports whether err is a temporary connection error. It lists
// temporary errors, so that unknown ones, such as certificate errors, are not retried.
func isTransientError(err error) bool {
	// The deadline of a context is a timeout as well, but it belongs to the caller.
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var proxy *provider.ProxyError
	if errors.As(err, &proxy) {
		return false
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	// A write returns ErrClosed if net/http has seen a reset while reading, and has
	// closed the connection.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	// The operation is checked instead of the errno, because Windows has different
	// errnos. TLS alerts are an OpError with other operations.
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op == "dial" || op.Op == "read" || op.Op == "write"
	}
	var stream streamError
	return errors.As(err, &stream)
}

// streamError receives the HTTP/2 stream error of net/http, which errors.As converts to
// any struct with these fields, such as golang.org/x/net/http2.StreamError.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "HTTP/2 stream ended" }
