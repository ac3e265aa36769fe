package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// setback is what follows from a try that did not work.
type retryDecision struct {
	// wait is the pause before the next try.
	wait time.Duration
	// paused tells that it is the pause of all requests to the host, which has
	// enough of them.
	paused    bool
	throttled schedule.ThrottleResult
}

// setBack decides on the pause after a number of failed tries, the last of which
// was answered by resp, if at all. A host that asks for a pause gets it at once,
// which is told once.
func (t *retrier) decideRetry(req *http.Request, resp *http.Response, sent time.Time, failed int) retryDecision {
	s := retryDecision{wait: backoff(t.options.FirstWait, failed)}
	if resp == nil {
		return s
	}
	asked := retryAfter(resp.Header, time.Now())
	s.wait = max(s.wait, asked)
	if s.paused = isPause(resp.StatusCode, asked) && s.wait <= MaxRetryAfter; s.paused {
		s.throttled = t.pool.Throttle(req.URL.Host, sent, s.wait)
	}
	if s.throttled.First {
		cause := &provider.StatusError{Method: req.Method, URL: SentWith(req).Text(RedactURL(req.URL)), Status: resp.StatusCode, RetryAfter: asked}
		t.reportRetry(req, Retry{Attempt: failed, Wait: s.wait, Cause: cause, Host: req.URL.Host})
	}
	return s
}

// isPause reports whether a host has enough of requests, and not just no answer to
// one: by the status and how long it asks to wait.
func isPause(status int, asked time.Duration) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && asked > 0
}

// waitOut tells of a failed try and waits. Where the host has a pause, that was told,
// and waiting is part of the next try.
func (t *retrier) waitForRetry(req *http.Request, made int, s retryDecision, cause error) error {
	if s.paused {
		return nil
	}
	t.reportRetry(req, Retry{Attempt: made, Wait: s.wait, Cause: cause})
	return bounded.Pause(req.Context(), s.wait)
}

func (t *retrier) reportRetry(req *http.Request, r Retry) {
	if t.options.OnRetry != nil {
		r.Method, r.URL, r.Of = req.Method, SentWith(req).Text(RedactURL(req.URL)), MaxTries
		t.options.OnRetry(r)
	}
}

// Pause waits after a number of failed GETs of target (1 after the first), for
// callers who go on with an answer that broke off. It waits and tells as the
// client's own repetitions do: longer where cause is a *[provider.StatusError]
// that asks for it, which is not longer than [MaxRetryAfter] where [IsTransient].
// A host's pause has been told already.
func Pause(ctx context.Context, client *http.Client, target *url.URL, failed int, cause error) error {
	t, ours := client.Transport.(*retrier)
	if !ours {
		t = &retrier{options: Options{FirstWait: DefaultFirstWait}}
	}
	wait, paused := backoff(t.options.FirstWait, failed), false
	var status *provider.StatusError
	if errors.As(cause, &status) {
		wait, paused = max(wait, status.RetryAfter), isPause(status.Status, status.RetryAfter)
	}
	if !paused {
		t.reportRetry(&http.Request{Method: http.MethodGet, URL: target}, Retry{Attempt: failed, Wait: wait, Cause: cause})
	}
	return bounded.Pause(ctx, wait)
}
