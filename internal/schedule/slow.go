package schedule

import (
	"cmp"
	"time"
)

const (
	// maxInVain is how long a host gets one pause after the other without answering
	// anything in between: as long as three of the longest that are waited for.
	maxInVain = 3 * time.Minute
	// maxFutile is how many times in a row a request is alone in vain, before it is
	// no longer worth that others wait.
	maxFutile = 3
)

// key is what a [Limiter] knows of a key; nil is one that nobody uses.
type key struct {
	used  int
	alone bool // the slot that is used is to be the only one
	// limit is how many slots there are since the key was slowed, zero for the
	// limiter's own, and answered counts what went well since it changed.
	limit, answered int
	// slowed is when the key was slowed last, and resume when it has slots again.
	slowed, resume time.Time
	// inVain is when the first pause was of those that did not help so far, and
	// futile counts as [maxFutile] says.
	inVain time.Time
	futile int
}

// isFree reports whether there is a slot. perKey is the limiter's own limit.
func (k *key) isFree(alone bool, perKey int) bool {
	if k == nil {
		return true
	}
	limit := cmp.Or(k.limit, perKey)
	switch {
	case k.alone, time.Now().Before(k.resume):
		return false
	case alone:
		return k.used == 0
	}
	return limit < 1 || k.used < limit
}

// isOrdinary reports whether there is nothing to remember.
func (k *key) isOrdinary() bool {
	return k.used == 0 && k.limit == 0 && k.futile == 0 && !time.Now().Before(k.resume)
}

// Slowed says what [Limiter.Slow] made of an answer.
type Slowed struct {
	// News tells that the key was slowed by this answer, and not before by the
	// answer to another request that was under way at the same time.
	News bool
	// Alone tells that no other request with a slot was under way: fewer at once
	// would not have helped.
	Alone bool
	// Hopeless tells that there is no pause, after several of which none helped.
	Hopeless bool
}

// Slow is for a host that has enough of requests. Its key gives no slots for a
// while, and then half as many at once as were used, of those who asked at the
// same time only once. sent is when the request was sent, after waiting for a slot
// or for a pause; its slot, if it had one, is free again.
func (l *Limiter) Slow(name string, sent time.Time, pause time.Duration) Slowed {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, now := l.key(name), time.Now()
	if k.inVain.IsZero() || now.Sub(k.resume) > maxInVain {
		k.inVain = now // the first, or the first that is asked for in a long time
	}
	if now.Sub(k.inVain) >= maxInVain {
		return Slowed{Hopeless: true}
	}
	if until := now.Add(pause); until.After(k.resume) {
		k.resume = until
		time.AfterFunc(pause, l.resume)
	}
	if !sent.After(k.slowed) {
		return Slowed{}
	}
	atOnce := k.used + 1
	k.slowed, k.limit, k.answered = now, max(atOnce/2, 1), 0
	return Slowed{News: true, Alone: atOnce == 1}
}

// resume serves who waited for the end of a pause.
func (l *Limiter) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grant()
}

// Regain is for a request that went well, and was sent after the key was slowed.
// When as many did as there may be at once, the key has a slot more, up to the
// limiter's own limit.
func (l *Limiter) Regain(name string, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil || k.limit == 0 || !sent.After(k.slowed) {
		return
	}
	k.inVain = time.Time{}
	if k.answered++; k.answered < k.limit {
		return
	}
	k.limit, k.answered = k.limit+1, 0
	if k.limit >= l.perKey {
		k.limit = 0
	}
	if k.isOrdinary() {
		delete(l.keys, name)
	}
	l.grant()
}

// AloneEnded reports whether it helped a request that it was alone. Where it did not,
// several times in a row, [Alone] makes no difference any more: a host that is down
// must not be waited for by one request after the other.
func (l *Limiter) AloneEnded(name string, helped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.key(name)
	switch {
	case !helped:
		k.futile++
	case k.futile < maxFutile:
		k.futile = 0
	}
	if k.isOrdinary() {
		delete(l.keys, name)
	}
}

// Pause tells how long a key gives no slots, for those who need none.
func (l *Limiter) Pause(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		return 0
	}
	return max(time.Until(k.resume), 0)
}
