package httpclient

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxSpared is how many times a request is sent again, without that counting as a
// try, since its host had enough of many requests at once. They become fewer each
// time, so that a handful will do.
const maxFreeRetries = 10

// retrier repeats requests that met trouble which passes. It sits below the
// redirects, so each hop has its own tries. The last try has no other request to
// the same host beside it, for hosts that don't bear many at once.
//
// A response that it gives up on is handed over as it came. A connection that
// fails for the last time is an *[provider.TransientError].
type retrier struct {
	limited
	options Options
}

// RoundTrip implements http.RoundTripper. Only a request whose body can be
// had again is repeated; for any other, a passing status becomes a
// *[provider.StatusError], so that whoever can make the body again may repeat above.
func (t *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
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
			resp = counted(resp, MaxTries) // by others before: there is no use in more
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

// try makes the request once. The transport owns and closes the body.
func (t *retrier) try(req *http.Request, body io.ReadCloser, made *tries) (*http.Response, time.Time, error) {
	ctx := t.attempted(req.Context(), made)
	if made.isLast() {
		ctx = schedule.Exclusive(ctx)
	}
	once := req.WithContext(ctx) // a copy that has the request's header and URL
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
		// The other side saw the client leave, and ended its answer: it is none.
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

// Apart lets a request go by HTTP/1.1, so that it has a connection of its own:
// HTTP/2 would put it on the one that is there, and it is connections that
// servers and networks make slow.
func WithDedicatedConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, dedicatedKey{}, true)
}

type dedicatedKey struct{}

func hasDedicatedConnection(ctx context.Context) bool { return ctx.Value(dedicatedKey{}) != nil }

// Once lets a request be made once only, as if its body could not be had again:
// for writes that need a fresh look before each try.
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

// tries counts the failed tries of a request, and those that don't count. [Get]
// puts one into its context, so that a body which breaks off is repeated out of the
// same few tries.
type tries struct{ made, free int }

// isLast reports whether the next try is the last.
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

// countedBody is a response's body that remembers how many tries it took.
type countedBody struct {
	io.ReadCloser
	tries int
	of    *http.Request
}

func counted(resp *http.Response, tries int) *http.Response {
	resp.Body = &countedBody{resp.Body, tries, resp.Request}
	return resp
}

// Read hides credentials in errors, because errors of HTTP/2 quote the server.
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
