package httpclient

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// StatusError is an answer whose status is not the one that was hoped for.
// For 401 and 403 it is a [provider.ErrDenied].
type StatusError struct {
	Method string
	// URL has neither query nor user information.
	URL    string
	Status int
	// Body is the beginning of the answer's text on one line, see [Excerpt].
	Body string
	// RetryAfter is how long the server asked to wait, zero if it did not.
	RetryAfter time.Duration
	// Tries is how often the request was made, zero when it is not known.
	Tries int
}

// NewStatusError describes a response. It reads the beginning of the body and
// closes it.
func NewStatusError(resp *http.Response) *StatusError {
	e := &StatusError{
		Status:     resp.StatusCode,
		RetryAfter: retryAfter(resp.Header, time.Now()),
		Tries:      triesOf(resp),
		Body:       excerptOf(resp),
	}
	if resp.Request != nil {
		e.Method, e.URL = resp.Request.Method, RedactURL(resp.Request.URL)
	}
	return e
}

func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d %s", e.Method, e.URL, e.Status, http.StatusText(e.Status))
	if e.Tries > 1 {
		fmt.Fprintf(&b, " after %d tries", e.Tries)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (asked to wait %s)", seconds(e.RetryAfter.Round(time.Second)))
	}
	if e.Body != "" {
		b.WriteString(": " + e.Body)
	}
	return b.String()
}

// Is tells that 401 and 403 are [provider.ErrDenied].
func (e *StatusError) Is(target error) bool {
	return target == provider.ErrDenied &&
		(e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// ExhaustedError says that a request failed as often as it may.
type ExhaustedError struct {
	Tries int
	// Err is how the last try failed.
	Err error
}

func (e *ExhaustedError) Error() string { return fmt.Sprintf("after %d tries: %v", e.Tries, e.Err) }

// Unwrap gives the last try's error.
func (e *ExhaustedError) Unwrap() error { return e.Err }

// TooLargeError says that a document is longer than what is read of its kind.
type TooLargeError struct {
	// URL has neither query nor user information.
	URL string
	// Limit is in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("GET %s: the answer has more than %d bytes", e.URL, e.Limit)
}

// DowngradeError says that a server spoken to by https wants to go on without
// TLS, which is refused.
type DowngradeError struct {
	// To has neither query nor user information.
	To string
}

func (e *DowngradeError) Error() string {
	scheme, _, _ := strings.Cut(e.To, ":")
	return fmt.Sprintf("redirected from https to %s (%s), which is not followed", scheme, e.To)
}
