package schedule

import (
	"cmp"
	"time"
)

const (
	// maxUnanswered limits the total time of consecutive pauses for a host if no
	// request between the pauses succeeds. It is three times the longest accepted
	// Retry-After.
	maxUnanswered = 3 * time.Minute
	// maxFailedExclusive is the maximum number of consecutive exclusive requests that
	// can fail. After these failures, requests to the host are not exclusive.
	maxFailedExclusive = 3
)

// key is the state of a [Limiter]'s key. A nil key is not in use.
type key struct {
	used      int
	exclusive bool // the slot in use is exclusive
	// limit is a throttled key's reduced number of slots. If it is 0, the limiter's
	// limit applies. succeeded counts successful requests since limit changed.
	limit, succeeded int
	// throttled is the time at which the key was last throttled. pausedUntil is the end
	// of the key's pause.
	throttled, pausedUntil time.Time
	// unansweredSince is the start of the first pause since the last successful
	// request.
	unansweredSince time.Time
	failedExclusive int
}

// isFree reports whether a slot is free. perKey is the limiter's limit.
func (k *key) isFree(exclusive bool, perKey int) bool {
	if k == nil {
		return true
	}
	limit := cmp.Or(k.limit, perKey)
	switch {
	case k.exclusive, time.Now().Before(k.pausedUntil):
		return false
	case exclusive:
		return k.used == 0
	}
	return limit < 1 || k.used < limit
}

// isIdle reports whether the key's state can be discarded.
func (k *key) isIdle() bool {
	return k.used == 0 && k.limit == 0 && k.failedExclusive == 0 && !time.Now().Before(k.pausedUntil)
}

// ThrottleResult is the result of [Limiter.Throttle].
type ThrottleResult struct {
	// First reports whether this response throttled the key. It is false if the
	// response to a concurrent request has already throttled the key.
	First bool
	// Single reports whether no other request had a slot of the key. In this case, a
	// lower limit would not have helped.
	Single bool
	// GaveUp reports whether the limiter stops pausing the key, because several pauses
	// did not help.
	GaveUp bool
}

// Throttle records that a host limits requests. During the pause, the key has no slots.
// After the pause, it has half as many slots as were in use. Responses to requests that
// were sent before the key was throttled reduce the limit only once. sent is the time
// at which the request was sent, after it waited for a slot or a pause. The caller must
// have released the request's slot.
func (l *Limiter) Throttle(name string, sent time.Time, pause time.Duration) ThrottleResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, now := l.key(name), time.Now()
	if k.unansweredSince.IsZero() || now.Sub(k.pausedUntil) > maxUnanswered {
		k.unansweredSince = now // the first pause, or the first pause in a long time
	}
	if now.Sub(k.unansweredSince) >= maxUnanswered {
		return ThrottleResult{GaveUp: true}
	}
	if until := now.Add(pause); until.After(k.pausedUntil) {
		k.pausedUntil = until
		time.AfterFunc(pause, l.endPause)
	}
	if !sent.After(k.throttled) {
		return ThrottleResult{}
	}
	concurrent := k.used + 1
	k.throttled, k.limit, k.succeeded = now, max(concurrent/2, 1), 0
	return ThrottleResult{First: true, Single: concurrent == 1}
}

func (l *Limiter) endPause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grant()
}

// Recover records a successful request that was sent after the key was throttled. When
// the number of successful requests reaches the key's number of slots, the key gets an
// additional slot, up to the limiter's limit.
func (l *Limiter) Recover(name string, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil || k.limit == 0 || !sent.After(k.throttled) {
		return
	}
	k.unansweredSince = time.Time{}
	if k.succeeded++; k.succeeded < k.limit {
		return
	}
	k.limit, k.succeeded = k.limit+1, 0
	if k.limit >= l.perKey {
		k.limit = 0
	}
	if k.isIdle() {
		delete(l.keys, name)
	}
	l.grant()
}

// ExclusiveDone records whether an exclusive request succeeded. After several
// consecutive failures, [Exclusive] has no effect on the key, because requests to an
// unavailable host must not wait for each other.
func (l *Limiter) ExclusiveDone(name string, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.key(name)
	switch {
	case !succeeded:
		k.failedExclusive++
	case k.failedExclusive < maxFailedExclusive:
		k.failedExclusive = 0
	}
	if k.isIdle() {
		delete(l.keys, name)
	}
}

// Pause returns the remaining time of a key's pause. Use it for requests without a
// slot.
func (l *Limiter) Pause(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		return 0
	}
	return max(time.Until(k.pausedUntil), 0)
}
