package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// IsTransient reports whether a caller can retry an operation that failed with err. The
// caller must be able to read its data again. Resets, incomplete bodies, timeouts, and
// temporary statuses are transient. Errors after failed retries
// (*[provider.TransientError]), canceled contexts, certificate errors, and wrong
// content are not transient.
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

// RetryableError marks an error as retryable if the next attempt can have a different
// result.
type RetryableError struct{ Err error }

func (e *RetryableError) Error() string { return e.Err.Error() }

// Unwrap returns the marked error.
func (e *RetryableError) Unwrap() error { return e.Err }

// IsLimit reports whether err means that a server limits requests.
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

// isTransientError reports whether err is a temporary connection error. It checks a
// list of temporary errors, so that unknown errors, such as certificate errors, are not
// retried.
func isTransientError(err error) bool {
	// A context's deadline is also a timeout, but it belongs to the caller.
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var proxy *ProxyError
	if errors.As(err, &proxy) {
		return false
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	// If net/http sees a reset while it reads, it closes the connection. A later write
	// then returns ErrClosed.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	// The code checks the operation instead of the errno, because Windows has different
	// errnos. A TLS alert is an OpError with a different operation.
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op == "dial" || op.Op == "read" || op.Op == "write"
	}
	var stream streamError
	return errors.As(err, &stream)
}

// streamError is the target of errors.As for net/http's HTTP/2 stream error. net/http
// converts this error to any struct with the same fields, such as
// golang.org/x/net/http2.StreamError.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "HTTP/2 stream ended" }
