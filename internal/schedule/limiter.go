// Package schedule decides what of a run goes on at the same time: requests and
// transfers share pools, items are worked many at once, and their results come in
// the order of the items.
package schedule

import (
	"context"
	"slices"
	"sync"
)

// Limiter hands out slots: so many in all, and so many for each key, such as a
// host. Who waits longest is served first; a key that has all its slots does not
// hold up the others. A key has fewer slots for a while after [Limiter.Slow].
type Limiter struct {
	total, perKey int

	mu      sync.Mutex
	used    int
	keys    map[string]*key
	waiting []*waiter
}

// waiter waits for a slot; granted is closed when it has one.
type waiter struct {
	key     string
	alone   bool
	granted chan struct{}
}

// NewLimiter makes a limiter. A limit below one is none.
func NewLimiter(total, perKey int) *Limiter {
	return &Limiter{total: total, perKey: perKey, keys: map[string]*key{}}
}

// Alone returns a context with which [Limiter.Acquire] waits until the key has no
// other slot, and gives no other one until the slot is free again. Whoever asks for
// the key later waits too, so that the time comes. See [Limiter.AloneEnded].
func Alone(ctx context.Context) context.Context { return context.WithValue(ctx, aloneKey{}, true) }

type aloneKey struct{}

func isAlone(ctx context.Context) bool { return ctx.Value(aloneKey{}) != nil }

// Acquire waits for a slot; the error is that of a context which ended before. The
// slot is free again when release is called, and more calls do nothing.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := l.enter(key, isAlone(ctx))
	select {
	case <-w.granted:
	case <-ctx.Done():
		if !l.leave(w) {
			// The slot came at the same moment.
			l.release(w)
		}
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() { l.release(w) }), nil
}

// enter takes a slot or a place in the queue.
func (l *Limiter) enter(key string, alone bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.keys[key]; k != nil && k.futile >= maxFutile {
		alone = false
	}
	w := &waiter{key: key, alone: alone, granted: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.grant()
	return w
}

// leave returns up a place in the queue, and tells whether it still was one.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.grant() // others may have waited for one that wanted to be alone
	return true
}

func (l *Limiter) release(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	k := l.keys[w.key]
	k.used, k.alone = k.used-1, false
	if k.isOrdinary() {
		delete(l.keys, w.key)
	}
	l.grant()
}

// grant serves who waits, the longest first.
func (l *Limiter) grant() {
	var kept []string // keys that are kept free for one who wants to be alone
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		isFree := l.total < 1 || l.used < l.total
		if !isFree || slices.Contains(kept, w.key) || !l.keys[w.key].isFree(w.alone, l.perKey) {
			if w.alone {
				kept = append(kept, w.key)
			}
			return false
		}
		l.used++
		k := l.key(w.key)
		k.used, k.alone = k.used+1, w.alone
		close(w.granted)
		return true
	})
}

// key returns what is known of a key, to change it.
func (l *Limiter) key(name string) *key {
	k := l.keys[name]
	if k == nil {
		k = &key{}
		l.keys[name] = k
	}
	return k
}
