package httpclient

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultFirstWait is the pause before the second attempt. It is long enough for a
	// load balancer to remove a failed backend.
	DefaultFirstWait = 500 * time.Millisecond
	// maxBackoff limits pauses, except those that a server requests.
	maxBackoff = 30 * time.Second
	// MaxRetryAfter is the longest Retry-After that the client accepts. If a server
	// requests a longer pause, the request fails.
	MaxRetryAfter = 60 * time.Second
)

// Backoff returns the pause after the given number of failed attempts, starting with 1.
// The first pause is half a second, and each subsequent pause is twice as long as the
// previous one. Backoff adds up to 50% at random, so that clients do not retry at the
// same time. Use it to retry operations that consist of several requests.
func Backoff(failed int) time.Duration { return backoff(DefaultFirstWait, failed) }

func backoff(first time.Duration, failed int) time.Duration {
	wait := first
	for range failed - 1 {
		wait = min(2*wait, maxBackoff)
	}
	return wait + rand.N(wait/2+1)
}

// retryAfter parses a Retry-After header, which contains seconds or a date (RFC 9110,
// section 10.2.3). It returns 0 if the header is missing or invalid.
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

// rateLimitReset returns the time until GitHub's limit ends. It returns 0 if the headers
// don't contain a limit. See
// https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api.
func rateLimitReset(h http.Header, now time.Time) time.Duration {
	reset, err := strconv.ParseUint(h.Get("X-Ratelimit-Reset"), 10, 40) // in seconds since 1970
	if err != nil || h.Get("X-Ratelimit-Remaining") != "0" {
		return 0
	}
	return max(time.Unix(int64(reset), 0).Sub(now), 0)
}
