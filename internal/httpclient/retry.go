package httpclient

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxFreeRetries is the maximum number of retries that do not count as attempts. A
// retry is free if the host limited many concurrent requests. Each wave of retries has
// fewer requests than the previous one, so few free retries are needed.
const maxFreeRetries = 10

// retrier repeats requests after temporary failures. Redirects are handled above the
// retrier, so each hop has separate attempts. During a request's last attempt, no other
// requests to the host are in progress, because some hosts cannot handle concurrent
// requests.
//
// If the last attempt fails, the retrier returns the response unchanged. If the
// connection failed, the retrier returns a *[provider.TransientError].
type retrier struct {
	limited
	options Options
}

// RoundTrip implements http.RoundTripper. It repeats only requests whose body can be
// read again. For any other request, it converts a temporary status to a
// *[provider.StatusError]. A caller that can create the body again can then retry.
func (t *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkLength(req.URL); err != nil { // of a redirect, or of the next page of a list
		return nil, err
	}
	ctx := req.Context()
	tries := triesIn(ctx)
	for body := req.Body; ; {
		alone := tries.isLast()
		resp, sent, err := t.try(req, body, tries)
		works := err == nil && !isTransientStatus(resp.StatusCode)
		if alone && ctx.Err() == nil {
			t.pool.ExclusiveDone(req.URL.Host, works)
		}
		if works {
			t.pool.Recover(req.URL.Host, sent)
			return counted(resp, tries.made+1), nil
		}
		if err != nil && (ctx.Err() != nil || !isTransientError(err)) {
			return nil, err
		}
		s := t.decideRetry(req, resp, sent, tries.made+1)
		if s.throttled.GaveUp {
			resp = counted(resp, MaxTries) // another retrier has already retried, so more retries are pointless
		}
		if !rewindable(req) || isWithoutRetry(ctx) {
			if err == nil {
				err = NewStatusError(resp)
			}
			return nil, err
		}
		tries.count(s)
		switch {
		case err == nil && s.throttled.GaveUp:
			return resp, nil
		case err == nil && (tries.made >= MaxTries || s.wait > MaxRetryAfter):
			return counted(resp, tries.made), nil
		case err == nil:
			err = NewStatusError(resp)
		case tries.made >= MaxTries:
			return nil, &provider.TransientError{Tries: tries.made, Err: err}
		}
		if err := t.waitForRetry(req, tries.made, s, err); err != nil {
			return nil, err
		}
		if body, err = rewound(req); err != nil {
			return nil, err
		}
	}
}

// try sends the request once. The transport closes the body.
func (t *retrier) try(req *http.Request, body io.ReadCloser, made *tries) (*http.Response, time.Time, error) {
	ctx := t.attempted(req.Context(), made)
	if made.isLast() {
		ctx = schedule.Exclusive(ctx)
	}
	once := req.WithContext(ctx) // a copy with the request's header and URL
	once.Body = body
	if once.Header.Get("User-Agent") == "" {
		once.Header = once.Header.Clone()
		once.Header.Set("User-Agent", t.options.UserAgent)
	}
	resp, sent, err := t.send(once)
	if err != nil {
		return nil, sent, describe(req, err)
	}
	if err := req.Context().Err(); err != nil {
		// The server might have noticed the disconnect and truncated its response, so
		// the response is not valid.
		_ = resp.Body.Close()
		return nil, sent, err
	}
	if resp.StatusCode == http.StatusProxyAuthRequired && proxyOf(req) != "" {
		_ = resp.Body.Close()
		return nil, sent, describe(req, proxyRefusal(resp.StatusCode))
	}
	resp.Request = req
	return resp, sent, nil
}

// WithDedicatedConnection returns a context whose requests use HTTP/1.1 and therefore
// separate connections. With HTTP/2, all requests would share one connection, and
// servers and networks limit the throughput of each connection.
func WithDedicatedConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, dedicatedKey{}, true)
}

type dedicatedKey struct{}

func hasDedicatedConnection(ctx context.Context) bool { return ctx.Value(dedicatedKey{}) != nil }

// WithoutRetry returns a context whose requests are sent only once, as if their bodies
// could not be read again. It is for writes that require a new check before each
// attempt.
func WithoutRetry(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutRetryKey{}, true)
}

type withoutRetryKey struct{}

func isWithoutRetry(ctx context.Context) bool { return ctx.Value(withoutRetryKey{}) != nil }

func rewindable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

func rewound(req *http.Request) (io.ReadCloser, error) {
	if req.GetBody == nil {
		return req.Body, nil
	}
	return req.GetBody()
}

// tries counts a request's failed attempts and free retries. [Get] adds tries to the
// context of its requests, so that retries after an incomplete body count toward the
// same limit.
type tries struct{ made, free int }

func (t *tries) isLast() bool { return t.made == MaxTries-1 }

func (t *tries) count(s retryDecision) {
	if s.paused && !s.throttled.Single && t.free < maxFreeRetries {
		t.free++
		return
	}
	t.made++
}

type triesKey struct{}

func triesIn(ctx context.Context) *tries {
	if t, ok := ctx.Value(triesKey{}).(*tries); ok {
		return t
	}
	return &tries{}
}

// countedBody is a response body together with the number of attempts.
type countedBody struct {
	io.ReadCloser
	tries int
	of    *http.Request
}

func counted(resp *http.Response, tries int) *http.Response {
	resp.Body = &countedBody{resp.Body, tries, resp.Request}
	return resp
}

// Read hides credentials in errors, because HTTP/2 errors quote the server's messages.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = SentWith(b.of).Error(err)
	}
	return n, err
}

func triesOf(resp *http.Response) int {
	if body, ok := resp.Body.(*countedBody); ok {
		return body.tries
	}
	return 0
}
