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

// retryDecision describes how to proceed after a failed attempt.
type retryDecision struct {
	// wait is the pause before the next attempt.
	wait time.Duration
	// paused reports whether the pause applies to all requests to the host.
	paused    bool
	throttled schedule.ThrottleResult
}

// decideRetry determines the pause after the given number of failed attempts. resp is
// the last attempt's response, or nil. If the host requests a pause, the pause starts
// immediately and is reported once.
func (t *retrier) decideRetry(req *http.Request, resp *http.Response, sent time.Time, failed int) retryDecision {
	s := retryDecision{wait: backoff(t.options.FirstWait, failed)}
	if resp == nil {
		return s
	}
	requested := retryAfter(resp.Header, time.Now())
	s.wait = max(s.wait, requested)
	if s.paused = isPause(resp.StatusCode, requested) && s.wait <= MaxRetryAfter; s.paused {
		s.throttled = t.pool.Throttle(req.URL.Host, sent, s.wait)
	}
	if s.throttled.First {
		cause := &provider.StatusError{Method: req.Method, URL: SentWith(req).Text(RedactURL(req.URL)), Status: resp.StatusCode, RetryAfter: requested}
		t.reportRetry(req, Retry{Attempt: failed, Wait: s.wait, Cause: cause, Host: req.URL.Host})
	}
	return s
}

// isPause reports whether the host limits all requests, based on the status and the
// requested pause of a response.
func isPause(status int, requested time.Duration) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && requested > 0
}

// waitForRetry reports a failed attempt and waits. If the host is paused, waitForRetry
// does nothing, because the pause has already been reported and also delays the next
// attempt.
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

// Pause waits before the next GET request for target. failed is the number of failed
// requests so far. Callers that resume an interrupted response use Pause, which waits
// and reports in the same way as the client's retries. If cause is a
// *[provider.StatusError] that requests a longer pause, Pause waits for the requested
// time. If [IsTransient] is true for the error, that time is at most [MaxRetryAfter].
// If the host is paused, Pause does not report the pause again.
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
