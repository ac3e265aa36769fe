package httpclient

import (
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// NewStatusError returns the error for a response. It reads the start of the response
// body and closes the body.
func NewStatusError(resp *http.Response) *provider.StatusError {
	e := &provider.StatusError{
		Status:     resp.StatusCode,
		RetryAfter: retryAfter(resp.Header, time.Now()),
		Tries:      triesOf(resp),
		Body:       excerptOf(resp),
	}
	if e.RetryAfter == 0 && (e.Status == http.StatusForbidden || e.Status == http.StatusTooManyRequests) {
		e.RetryAfter = rateLimitReset(resp.Header, time.Now())
	}
	if resp.Request != nil {
		e.Method, e.URL = resp.Request.Method, SentWith(resp.Request).Text(RedactURL(resp.Request.URL))
	}
	return e
}
