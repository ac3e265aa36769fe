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

// Trace is told what goes over the wire: of each try of each request, and each hop of
// a redirect, when it goes out, when its answer begins, and when the answer's body has
// ended. Its functions are called concurrently and may be nil. No secret reaches them:
// no login, no credential that a response repeats, and of URLs what [RedactURL] leaves.
// No body is kept.
type Trace struct {
	OnRequest  func(RequestEvent)
	OnResponse func(ResponseEvent)
	// Read is told of bodies that are larger than [MaxAhead] or break off.
	OnBody func(BodyEvent)
}

// Sent is a try of a request that goes out.
type RequestEvent struct {
	// Number is the same for all that is told of this try, and of no other of the client.
	Number uint64
	Method string
	// URL is without what may be a secret.
	URL string
	// Login is the scheme of the login that goes along, such as "Bearer"; empty for none.
	Scheme string
	// Proxy is what it goes by, empty for none.
	Proxy string
	// Range is the part that is asked for, empty for all.
	Range string
	// Size is that of the body in bytes, -1 where it is not known.
	Size int64
	// Try counts from 1, Waited is how long it waited for its turn.
	Try    int
	Waited time.Duration
}

// ResponseEvent is what came of it: an answer, whose body is still to come, or Err.
type ResponseEvent struct {
	Number uint64
	Err    error
	// After is the time since it went out.
	After    time.Duration
	Status   int
	Protocol string
	Type     string
	// Size is that of the body as the answer states it, -1 where it does not.
	Size int64
	// Location is where the answer leads, without what may be a secret.
	Location string
	// RetryAfter is how long the server asks to wait, and Challenge what login it wants.
	RetryAfter time.Duration
	Challenge  string
}

// Read is the end of an answer's body.
type BodyEvent struct {
	Number uint64
	Bytes  int64
	// After is the time since the request went out.
	After time.Duration
	// Err is why it broke off, nil where it did not.
	Err error
}

// attempt is what a try knows of itself before it has its turn.
type attempt struct {
	number int
	began  time.Time
}

type attemptKey struct{}

// attempted notes a try for the tracer, if there is one.
func (t *retrier) attempted(ctx context.Context, made *tries) context.Context {
	if t.options.Trace == nil {
		return ctx
	}
	return context.WithValue(ctx, attemptKey{}, attempt{made.made + made.free + 1, time.Now()})
}

// tracer tells a [Trace] of all that a transport does.
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
		resp.Body = &tracedBody{ReadCloser: resp.Body, number: number, sent: began, of: req, tell: t.trace.OnBody}
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

// tracedBody counts the bytes of a body, and tells of its end.
type tracedBody struct {
	io.ReadCloser
	number uint64
	sent   time.Time
	bytes  atomic.Int64
	once   sync.Once
	of     *http.Request
	tell   func(BodyEvent)
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
			b.tell(BodyEvent{Number: b.number, Bytes: n, After: time.Since(b.sent), Err: describe(b.of, err)})
		}
	})
}

// parameter is one of a challenge that is no secret (RFC 9110, section 11.6.1).
var parameter = regexp.MustCompile(`\b(realm|service|scope|error)="([^"]*)"`)

// challenges says what logins a server wants, and from where.
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
