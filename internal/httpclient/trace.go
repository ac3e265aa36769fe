package httpclient

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Trace observes all traffic, including each attempt of a request and each hop of a
// redirect. It is notified when a request is sent, when a response starts, and when the
// response body ends. Its functions can be nil and can be called concurrently. They
// never receive credentials, not even those that a response repeats. URLs are redacted
// by [RedactURL]. Bodies are not stored.
type Trace struct {
	OnRequest  func(RequestEvent)
	OnResponse func(ResponseEvent)
	// OnBody is called for bodies that are larger than [MaxAhead] or incomplete.
	OnBody func(BodyEvent)
}

// RequestEvent describes an attempt to send a request.
type RequestEvent struct {
	// Number is unique among all attempts of the client.
	Number uint64
	Method string
	// URL is redacted.
	URL string
	// Scheme is the authentication scheme, such as "Bearer". It is empty for requests
	// without credentials.
	Scheme string
	// Proxy is the proxy of the request. It is empty for direct connections.
	Proxy string
	// Range is the requested range. It is empty if no range is requested.
	Range string
	// Size is the body's size in bytes, or -1 if the size is unknown.
	Size int64
	// Try is the number of the attempt, starting at 1. Waited is the time that the
	// attempt waited for a slot.
	Try    int
	Waited time.Duration
}

// ResponseEvent is the result of an attempt. The result is an error, or a response that
// is followed by a body.
type ResponseEvent struct {
	Number uint64
	Err    error
	// After is the time since the request was sent.
	After    time.Duration
	Status   int
	Protocol string
	Type     string
	// Size is the response's Content-Length, or -1 if it is unknown.
	Size int64
	// Location is the redacted target of a redirect.
	Location string
	// RetryAfter is the requested pause. Challenge describes the requested credentials.
	RetryAfter time.Duration
	Challenge  string
}

// BodyEvent reports the end of a response body.
type BodyEvent struct {
	Number uint64
	Bytes  int64
	// After is the time since the request was sent.
	After time.Duration
	// Err explains why the body is incomplete. It is nil if the body is complete.
	Err error
}

// attempt contains the number and the start time of an attempt for the tracer.
type attempt struct {
	number int
	began  time.Time
}

type attemptKey struct{}

// attempted records an attempt for the tracer.
func (t *retrier) attempted(ctx context.Context, made *tries) context.Context {
	if t.options.Trace == nil {
		return ctx
	}
	return context.WithValue(ctx, attemptKey{}, attempt{made.made + made.free + 1, time.Now()})
}

// tracer reports a transport's traffic to a [Trace].
type tracer struct {
	transport
	trace  Trace
	number atomic.Uint64
}

// RoundTrip implements http.RoundTripper.
func (t *tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	number, began := t.number.Add(1), time.Now()
	sent := RequestEvent{
		Number: number, Method: req.Method, URL: SentWith(req).Text(RedactURL(req.URL)), Proxy: proxyOf(req), Range: req.Header.Get("Range"), Size: req.ContentLength,
	}
	sent.Scheme, _, _ = strings.Cut(req.Header.Get("Authorization"), " ")
	if a, ok := req.Context().Value(attemptKey{}).(attempt); ok {
		sent.Try, sent.Waited = a.number, began.Sub(a.began)
	}
	if t.trace.OnRequest != nil {
		t.trace.OnRequest(sent)
	}
	resp, err := t.transport.RoundTrip(req)
	answered := ResponseEvent{Number: number, After: time.Since(began)}
	if err != nil {
		answered.Err = describe(req, err)
	} else {
		answered.describe(resp, SentWith(req))
	}
	if t.trace.OnResponse != nil {
		t.trace.OnResponse(answered)
	}
	if err == nil && t.trace.OnBody != nil {
		resp.Body = &tracedBody{ReadCloser: resp.Body, number: number, sent: began, of: req, onEnd: t.trace.OnBody}
	}
	return resp, err
}

func (a *ResponseEvent) describe(resp *http.Response, sent text.Secrets) {
	a.Status, a.Protocol, a.Size = resp.StatusCode, resp.Proto, resp.ContentLength
	a.Type, _, _ = strings.Cut(sent.Text(resp.Header.Get("Content-Type")), ";")
	a.RetryAfter = retryAfter(resp.Header, time.Now())
	a.Challenge = sent.Text(challenges(resp.Header.Values("WWW-Authenticate")))
	if to, err := resp.Location(); err == nil {
		a.Location = sent.Text(RedactURL(to))
	}
}

// tracedBody counts the bytes that are read from a body and reports when the body ends.
type tracedBody struct {
	io.ReadCloser
	number uint64
	sent   time.Time
	bytes  atomic.Int64
	once   sync.Once
	of     *http.Request
	onEnd  func(BodyEvent)
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	if err != nil {
		b.end(err)
	}
	return n, err
}

func (b *tracedBody) Close() error {
	b.end(io.EOF)
	return b.ReadCloser.Close()
}

func (b *tracedBody) end(err error) {
	b.once.Do(func() {
		if err == io.EOF {
			err = nil
		}
		if n := b.bytes.Load(); err != nil || n > MaxAhead {
			b.onEnd(BodyEvent{Number: b.number, Bytes: n, After: time.Since(b.sent), Err: describe(b.of, err)})
		}
	})
}

// parameter matches those parameters of a challenge that contain no secrets (RFC 9110,
// section 11.6.1).
var parameter = regexp.MustCompile(`\b(realm|service|scope|error)="([^"]*)"`)

// challenges describes the credentials that a server requests.
func challenges(headers []string) string {
	var all []string
	for _, header := range headers {
		scheme, _, _ := strings.Cut(header, " ")
		words := []string{scheme}
		for _, p := range parameter.FindAllStringSubmatch(header, -1) {
			value := p[2]
			if u, err := url.Parse(value); err == nil && u.Host != "" {
				value = RedactURL(u)
			}
			words = append(words, p[1]+"="+value)
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, ", ")
}
