package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Request configures a request for a small document.
type Request struct {
	// Header is added to the request. It can be nil.
	Header http.Header
	// Limit is the maximum size of the document in bytes.
	Limit int64
}

// Document is a fetched document.
type Document struct {
	Bytes []byte
	// URL is the document's URL after redirects. References in the document are
	// relative to this URL.
	URL    *url.URL
	Header http.Header
	sent   text.Secrets
}

// Error removes the request's credentials from err, which describes a problem with the
// document's content.
func (d Document) Error(err error) error { return d.sent.Error(err) }

// Excerpt returns the document's [Excerpt]. If the document is not an HTML page, the
// excerpt is based on at most the given number of bytes.
func (d Document) Excerpt(most int) string {
	contentType := d.Header.Get("Content-Type")
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType == "text/html" {
		return d.Page()
	}
	text := d.sent.Text(string(d.Bytes[:min(len(d.Bytes), maxDrain)]))
	return Excerpt(contentType, []byte(text[:min(len(text), most)]), nil)
}

// Page returns the [Excerpt] of an HTML page.
func (d Document) Page() string { return Excerpt("text/html", d.Bytes, d.sent) }

// ErrTooLarge means that a document exceeds [Request.Limit].
var ErrTooLarge = provider.Errorf(provider.Refused, "response exceeds")

// Get fetches a small document. If the status is not 2xx, Get returns a
// *[provider.StatusError]. If the document exceeds the limit, the error wraps
// [ErrTooLarge]. If the body is incomplete, Get repeats the request, with at most
// [MaxTries] attempts in total. Errors do not contain the URL's query.
func Get(ctx context.Context, client *http.Client, target *url.URL, r Request) (Document, error) {
	failed := &tries{}
	ctx = context.WithValue(ctx, triesKey{}, failed)
	for {
		doc, err := getOnce(ctx, client, target, r)
		var broken *brokenBodyError
		if err == nil || !errors.As(err, &broken) || !IsTransient(err) {
			return doc, err
		}
		if failed.made++; failed.made >= MaxTries {
			return Document{}, &provider.TransientError{Tries: failed.made, Err: err}
		}
		if err := Pause(ctx, client, target, failed.made, err); err != nil {
			return Document{}, err
		}
	}
}

func getOnce(ctx context.Context, client *http.Client, target *url.URL, r Request) (Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return Document{}, RedactError(err)
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	resp, err := Do(client, req)
	if err != nil {
		return Document{}, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Document{}, NewStatusError(resp)
	}
	defer resp.Body.Close()
	from := resp.Request.URL
	sent := SentWith(resp.Request)
	shown := sent.Text(RedactURL(from))
	tooLarge := fmt.Errorf("GET %s: %w %d bytes", shown, ErrTooLarge, r.Limit)
	if resp.ContentLength > r.Limit {
		return Document{}, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, r.Limit+1))
	if err != nil {
		return Document{}, &brokenBodyError{url: shown, err: sent.Error(err)}
	}
	if int64(len(body)) > r.Limit {
		return Document{}, tooLarge
	}
	return Document{Bytes: body, URL: from, Header: resp.Header, sent: sent}, nil
}

// brokenBodyError means that a response body was incomplete.
type brokenBodyError struct {
	url string
	err error
}

func (e *brokenBodyError) Error() string {
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("GET %s: response interrupted", e.url)
	}
	return fmt.Sprintf("GET %s: response interrupted: %v", e.url, describeError(e.err))
}

func (e *brokenBodyError) Unwrap() error { return e.err }
