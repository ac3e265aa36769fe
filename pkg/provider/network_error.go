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
	// RetryAfter is the delay that the server requested, or the time until GitHub's rate
	// limit ends. It is zero if unknown.
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
