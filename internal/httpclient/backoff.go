package httpclient

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultFirstWait is the pause before the second try: long enough for a
	// load balancer to drop a dead backend.
	DefaultFirstWait = 500 * time.Millisecond
	// maxBackoff bounds the pauses that we choose ourselves.
	maxBackoff = 30 * time.Second
	// MaxRetryAfter is the longest Retry-After that is waited for; a pipeline
	// should fail rather than sleep for longer.
	MaxRetryAfter = 60 * time.Second
)

// Backoff returns the pause after a number of failed tries (1 after the first):
// half a second, doubling, with up to half as much again at random, so that
// many clients don't come back together. It is for callers who repeat above
// this client.
func Backoff(failed int) time.Duration { return backoff(DefaultFirstWait, failed) }

func backoff(first time.Duration, failed int) time.Duration {
	wait := first
	for range failed - 1 {
		wait = min(2*wait, maxBackoff)
	}
	return wait + rand.N(wait/2+1)
}

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, section
// 10.2.3). It is zero when there is none, or none that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
