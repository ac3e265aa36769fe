package provider

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// StatusError is an answer of a server whose status is not the one that was hoped
// for. For 401 and 403 it is an [ErrDenied].
type StatusError struct {
	Method string
	// URL has neither query nor user information.
	URL    string
	Status int
	// Body is the beginning of the answer's text, on one line.
	Body string
	// RetryAfter is how long the server asked to wait, zero if it did not.
	RetryAfter time.Duration
	// Tries is how often the request was made, zero when it is not known.
	Tries int
}

func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Tries > 1 {
		fmt.Fprintf(&b, " after %d tries", e.Tries)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (asked to wait %gs)", e.RetryAfter.Round(time.Second).Seconds())
	}
	if e.Body != "" {
		b.WriteString(": " + e.Body)
	}
	return b.String()
}

// Kind is [Denied] for 401 and 403, and else [Transient].
func (e *StatusError) Kind() ErrorKind {
	if e.Is(ErrDenied) {
		return Denied
	}
	return Transient
}

// Is tells that 401 and 403 are [ErrDenied].
func (e *StatusError) Is(target error) bool {
	return target == ErrDenied && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// TransientError says that something failed as often as it was tried, in a way
// that may pass: a connection that broke, a server that did not answer. It wraps
// how the last try failed.
type TransientError struct {
	Tries int
	Err   error
}

func (e *TransientError) Error() string { return fmt.Sprintf("after %d tries: %v", e.Tries, e.Err) }

// Kind is [Transient].
func (e *TransientError) Kind() ErrorKind { return Transient }

// Unwrap returns the last try's error.
func (e *TransientError) Unwrap() error { return e.Err }

// ProxyError says that a proxy of the environment does not connect.
type ProxyError struct {
	// Proxy is its URL without a password.
	Proxy string
	// Status is the HTTP status that it answered, 0 when it did not answer.
	Status int
	// HasLogin reports whether its URL has a login, and Username whose that is. It is empty
	// for a login without a password, where the name may be the secret.
	HasLogin bool
	Username string
	Err      error
}

func (e *ProxyError) Error() string {
	text := fmt.Sprintf("the proxy %s: %v", e.Proxy, e.Err)
	switch {
	case e.Status != http.StatusProxyAuthRequired || !e.HasLogin:
		return text
	case e.Username == "":
		return text + "; the login was the one in the proxy's URL"
	}
	return text + fmt.Sprintf("; the login was that of %s, from the proxy's URL", e.Username)
}

// Unwrap returns what went wrong.
func (e *ProxyError) Unwrap() error { return e.Err }

// Kind is [Denied] if the proxy wants another login, and else [Transient].
func (e *ProxyError) Kind() ErrorKind {
	if e.Status == http.StatusProxyAuthRequired {
		return Denied
	}
	return Transient
}
