package httpclient

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrPage is returned if the response is a web page instead of a registry's document.
// Captive portals, login pages, and proxies return such pages.
var ErrPage = provider.Errorf(provider.Transient, "expected a registry response")

// maxShown is the maximum length, in bytes, of a document's excerpt in an error.
const maxShown = 120

// RequireJSON returns an error if the content type of the document is not
// application/json. Parameters of the content type are ignored.
func (d Document) RequireJSON() error {
	contentType := d.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil && mediaType == "application/json" {
		return nil
	}
	return d.Error(fmt.Errorf("GET %s: unexpected content type %q, want application/json%s", RedactURL(d.URL), contentType, d.colonExcerpt()))
}

// DecodeJSON parses a JSON document with at most the given number of values. Its errors
// describe unexpected content. For a web page, it returns [ErrPage].
func (d Document) DecodeJSON(into any, values int) error {
	err := bounded.DecodeJSON(d.Bytes, into, values)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bounded.ErrJSONLimit):
		err = fmt.Errorf("reading the response: %w", err)
	case d.isPage():
		err = fmt.Errorf("%w, got %s", ErrPage, d.Page())
	default:
		err = fmt.Errorf("invalid JSON response (%w)%s", err, d.colonExcerpt())
	}
	return d.Error(fmt.Errorf("GET %s: %w", RedactURL(d.URL), err))
}

// isPage reports whether a document is HTML, based on its content type or on an initial
// "<", with which JSON never starts.
func (d Document) isPage() bool {
	mediaType, _, _ := mime.ParseMediaType(d.Header.Get("Content-Type"))
	return mediaType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(d.Bytes), []byte("<"))
}

// colonExcerpt returns ": " and an excerpt of the document. It returns an empty string
// if the document is empty.
func (d Document) colonExcerpt() string {
	if text := d.Excerpt(maxShown); text != "" {
		return ": " + text
	}
	return ""
}

// IsNotFound reports whether err means that the server responded with status 404.
func IsNotFound(err error) bool {
	failure, ok := errors.AsType[*provider.StatusError](err)
	return ok && failure.Status == http.StatusNotFound
}

// Resolve resolves a URL in a document relative to the document's URL. It accepts only
// https URLs, because the content at these URLs determines what is trusted. If the
// document itself was requested without TLS, Resolve also accepts URLs with the same
// origin.
func Resolve(base *url.URL, text string) (*url.URL, error) {
	if err := CheckLength(text); err != nil {
		return nil, err
	}
	ref, err := url.Parse(text)
	if err != nil {
		return nil, RedactError(err)
	}
	u := base.ResolveReference(ref)
	if u.Hostname() == "" || u.Scheme != "https" && !SameOrigin(u, base) {
		return nil, fmt.Errorf("invalid URL %s: want https", RedactURL(u))
	}
	return u, nil
}
