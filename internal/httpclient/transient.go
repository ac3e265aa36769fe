package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// IsTransient reports whether an operation that failed with err is worth
// another go from the start, by a caller who can open its data again: resets,
// early ends, timeouts and passing statuses. It is false for what was already
// repeated in vain (*[provider.TransientError]), for ended contexts, for certificate
// trouble, and for content that is wrong.
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

// RetryableError says that Err is worth another go, where that can't be seen: the
// next one will go another way.
type RetryableError struct{ Err error }

func (e *RetryableError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *RetryableError) Unwrap() error { return e.Err }

// IsLimit reports whether err is a server's that has enough of requests for now.
func IsLimit(err error) bool {
	var status *provider.StatusError
	return errors.As(err, &status) && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable)
}

// isTransientStatus reports whether a status says "later".
func isTransientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isTransientError reports whether err is about the connection and may pass. It lists
// what may pass, so that certificate errors and the like don't.
func isTransientError(err error) bool {
	// A context's deadline is a timeout too, but the caller's own.
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
	// ErrClosed is what a write meets when net/http saw the reset while reading,
	// and has closed the connection.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	// The operation and not the errno, since Windows' errnos have other names.
	// TLS alerts are an OpError too, with operations of their own.
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op == "dial" || op.Op == "read" || op.Op == "write"
	}
	var stream streamError
	return errors.As(err, &stream)
}

// streamError receives net/http's own HTTP/2 stream error, which errors.As
// converts to any struct of these fields (golang.org/x/net/http2.StreamError
// is the type it is made for).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "HTTP/2 stream ended" }
