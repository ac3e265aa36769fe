package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/ctxio"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// retrier repeats requests that met trouble which passes. It sits below the
// redirects, so each hop has its own tries.
//
// A response that it gives up on is handed over as it came. A connection that
// fails for the last time is an *[provider.TransientError].
type retrier struct {
	transport
	options Options
}

// RoundTrip implements http.RoundTripper. Only a request whose body can be
// had again is repeated; for any other, a passing status becomes a
// *[provider.StatusError], so that whoever can make the body again may repeat above.
func (t *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tries := triesIn(ctx)
	for body := req.Body; ; {
		resp, err := t.try(req, body)
		if err == nil && !isTransientStatus(resp.StatusCode) {
			return counted(resp, tries.made+1), nil
		}
		if err != nil && (ctx.Err() != nil || !isTransientError(err)) {
			return nil, err
		}
		if !rewindable(req) || isOnce(ctx) {
			if err == nil {
				err = NewStatusError(resp)
			}
			return nil, err
		}
		tries.made++
		wait := backoff(t.options.FirstWait, tries.made)
		if err == nil {
			asked := retryAfter(resp.Header, time.Now())
			if tries.made >= MaxTries || asked > MaxRetryAfter {
				return counted(resp, tries.made), nil
			}
			wait, err = max(wait, asked), NewStatusError(resp)
		} else if tries.made >= MaxTries {
			return nil, &provider.TransientError{Tries: tries.made, Err: err}
		}
		if err := t.pause(req, tries.made, wait, err); err != nil {
			return nil, err
		}
		if body, err = rewound(req); err != nil {
			return nil, err
		}
	}
}

// try makes the request once. The transport owns and closes the body.
func (t *retrier) try(req *http.Request, body io.ReadCloser) (*http.Response, error) {
	once := req.Clone(req.Context())
	once.Body = body
	if once.Header.Get("User-Agent") == "" {
		once.Header.Set("User-Agent", t.options.UserAgent)
	}
	resp, err := t.transport.RoundTrip(once)
	if err != nil {
		// net/http wraps our own plain words in its inner workings.
		var idle *idleError
		if errors.As(err, &idle) {
			return nil, idle
		}
		return nil, err
	}
	resp.Request = req
	return resp, nil
}

// pause tells of the failed try and waits.
func (t *retrier) pause(req *http.Request, made int, wait time.Duration, cause error) error {
	if t.options.Retried != nil {
		t.options.Retried(Retry{
			Method: req.Method, URL: RedactURL(req.URL),
			Attempt: made, Of: MaxTries, Wait: wait, Cause: cause,
		})
	}
	return ctxio.Pause(req.Context(), wait)
}

// Pause waits after a number of failed GETs of target (1 after the first), for
// callers who go on with an answer that broke off. It waits and tells as the
// client's own repetitions do: longer where cause is a *[provider.StatusError]
// that asks for it, which is not longer than [MaxRetryAfter] where [IsTransient].
func Pause(ctx context.Context, client *http.Client, target *url.URL, failed int, cause error) error {
	t, ours := client.Transport.(*retrier)
	if !ours {
		t = &retrier{options: Options{FirstWait: DefaultFirstWait}}
	}
	wait := backoff(t.options.FirstWait, failed)
	var status *provider.StatusError
	if errors.As(cause, &status) {
		wait = max(wait, status.RetryAfter)
	}
	req := (&http.Request{Method: http.MethodGet, URL: target}).WithContext(ctx)
	return t.pause(req, failed, wait, cause)
}

// Apart lets a request go by HTTP/1.1, so that it has a connection of its own:
// HTTP/2 would put it on the one that is there, and it is connections that
// servers and networks make slow.
func Apart(ctx context.Context) context.Context { return context.WithValue(ctx, apartKey{}, true) }

type apartKey struct{}

func isApart(ctx context.Context) bool { return ctx.Value(apartKey{}) != nil }

// Once lets a request be made once only, as if its body could not be had again:
// for writes that need a fresh look before each try.
func Once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

type onceKey struct{}

func isOnce(ctx context.Context) bool { return ctx.Value(onceKey{}) != nil }

func rewindable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

func rewound(req *http.Request) (io.ReadCloser, error) {
	if req.GetBody == nil {
		return req.Body, nil
	}
	return req.GetBody()
}

// tries counts the failed tries of a request. [Get] puts one into its context,
// so that a body which breaks off is repeated out of the same few tries.
type tries struct{ made int }

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
}

func counted(resp *http.Response, tries int) *http.Response {
	resp.Body = &countedBody{resp.Body, tries}
	return resp
}

func triesOf(resp *http.Response) int {
	if body, ok := resp.Body.(*countedBody); ok {
		return body.tries
	}
	return 0
}
