package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// ErrLimited means that a server responded with 429 or 503 to an additional connection.
var ErrLimited = errors.New("server limits connections")

// ErrRangeMismatch means that a response does not contain the requested range. Either
// the server does not support ranges, or the content has changed.
var ErrRangeMismatch = errors.New("response does not match the requested range")

// Range is the byte range [From, End) of content that has Size bytes in total.
type Range struct{ From, End, Size int64 }

// Header returns the value of the Range header. See
// https://www.rfc-editor.org/rfc/rfc9110.html#section-14.1.2.
func (r Range) Header() string { return fmt.Sprintf("bytes=%d-%d", r.From, r.End-1) }

// Check returns [ErrRangeMismatch] if a response does not contain the requested range,
// or if its validator differs from known. An empty validator is not compared.
func (r Range) Check(resp *http.Response, known Validator) error {
	want := fmt.Sprintf("bytes %d-%d/%d", r.From, r.End-1, r.Size)
	mismatch := func(got string) error {
		return fmt.Errorf("%w: got %s, want %s", ErrRangeMismatch, httpclient.SentWith(resp.Request).Text(got), want)
	}
	if resp.StatusCode != http.StatusPartialContent {
		return mismatch(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	unknownSize := fmt.Sprintf("bytes %d-%d/*", r.From, r.End-1)
	if got := resp.Header.Get("Content-Range"); got != want && got != unknownSize {
		return mismatch(fmt.Sprintf("%q", got))
	}
	if n := resp.ContentLength; n >= 0 && n != r.End-r.From {
		return mismatch(fmt.Sprintf("%d bytes", n))
	}
	if got := resp.Header.Get("ETag"); known.etag != "" && got != "" && got != known.etag {
		return mismatch("ETag " + got)
	}
	if got := resp.Header.Get("Last-Modified"); known.modified != "" && got != "" && got != known.modified {
		return mismatch("Last-Modified " + got)
	}
	return nil
}

// Validator identifies a version of the content.
type Validator struct{ etag, modified string }

// ValidatorOf returns a response's validator. This is the ETag or, if the response has
// no ETag, the Last-Modified date.
func ValidatorOf(resp *http.Response) Validator {
	if etag := resp.Header.Get("ETag"); etag != "" {
		return Validator{etag: etag}
	}
	return Validator{modified: resp.Header.Get("Last-Modified")}
}

// IfRange returns the value of an If-Range header. If the validator is too weak for
// this header, IfRange returns "". See
// https://www.rfc-editor.org/rfc/rfc9110.html#section-13.1.5.
func (v Validator) IfRange(answered http.Header) string {
	if v.etag != "" {
		if v.etag[0] != '"' {
			return ""
		}
		return v.etag
	}
	modified, err := http.ParseTime(v.modified)
	if err != nil {
		return ""
	}
	// A date is a strong validator if the content cannot have changed twice within the
	// same second.
	date, err := http.ParseTime(answered.Get("Date"))
	if err != nil || date.Sub(modified) < time.Second {
		return ""
	}
	return v.modified
}
