package provider

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// StatusError reports an HTTP response with an unexpected status. For 401 and 403, it
// matches [ErrForbidden].
type StatusError struct {
	Method string
	// URL contains neither a query nor user information.
	URL    string
	Status int
	// Body is the beginning of the response body, on one line.
	Body string
	// RetryAfter is the delay that the server requested, or zero.
	RetryAfter time.Duration
	// Tries is the number of attempts, or zero if unknown.
	Tries int
}

func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Tries > 1 {
		fmt.Fprintf(&b, " after %d tries", e.Tries)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (Retry-After: %gs)", e.RetryAfter.Round(time.Second).Seconds())
	}
	if e.Body != "" {
		b.WriteString(": " + e.Body)
	}
	return b.String()
}

// Kind returns [Denied] for 401 and 403, and [Transient] for other statuses.
func (e *StatusError) Kind() ErrorKind {
	if e.Is(ErrForbidden) {
		return Denied
	}
	return Transient
}

// Is makes 401 and 403 match [ErrForbidden].
func (e *StatusError) Is(target error) bool {
	return target == ErrForbidden && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// TransientError reports that all attempts failed with errors that might be temporary,
// such as broken connections or missing responses. It wraps the error from the last
// attempt.
type TransientError struct {
	Tries int
	Err   error
}

func (e *TransientError) Error() string { return fmt.Sprintf("after %d tries: %v", e.Tries, e.Err) }

// Kind returns [Transient].
func (e *TransientError) Kind() ErrorKind { return Transient }

// Unwrap returns the error from the last attempt.
func (e *TransientError) Unwrap() error { return e.Err }

// ProxyError reports that a proxy from the environment did not establish a connection.
type ProxyError struct {
	// Proxy is the URL of the proxy without the password.
	Proxy string
	// Status is the HTTP status of the proxy's response, or 0 if the proxy did not
	// respond.
	Status int
	// HasLogin reports whether the URL contains credentials. Username is the user name
	// in these credentials. If the credentials have no password, Username is empty,
	// because the user name could be a secret.
	HasLogin bool
	Username string
	Err      error
}

func (e *ProxyError) Error() string {
	text := fmt.Sprintf("proxy %s: %v", e.Proxy, e.Err)
	switch {
	case e.Status != http.StatusProxyAuthRequired || !e.HasLogin:
		return text
	case e.Username == "":
		return text + "; credentials from the proxy URL were used"
	}
	return text + fmt.Sprintf("; credentials of %s from the proxy URL were used", e.Username)
}

// Unwrap returns the underlying error.
func (e *ProxyError) Unwrap() error { return e.Err }

// Kind returns [Denied] if the proxy requires different credentials. Otherwise, it
// returns [Transient].
func (e *ProxyError) Kind() ErrorKind {
	if e.Status == http.StatusProxyAuthRequired {
		return Denied
	}
	return Transient
}

// ClientCertificateError reports that a server requires a client certificate, or that it
// rejected the certificate that the client sent.
type ClientCertificateError struct {
	// Sent reports whether the client sent a certificate.
	Sent bool
	// IsRegistry reports whether the server is an OCI registry. Other servers don't receive
	// client certificates.
	IsRegistry bool
	Err        error
}

func (e *ClientCertificateError) Error() string {
	if e.Sent {
		return fmt.Sprintf("server rejected the client certificate: %v", e.Err)
	}
	return fmt.Sprintf("server requires a client certificate: %v", e.Err)
}

// Kind returns [Denied].
func (e *ClientCertificateError) Kind() ErrorKind { return Denied }

// Unwrap returns the cause.
func (e *ClientCertificateError) Unwrap() error { return e.Err }
