// Package schedule controls concurrency. It limits concurrent requests and transfers
// ([Limiter], [Transfers]). It applies pauses and lower limits to hosts that throttle
// ([Limiter.Throttle]). It also processes many items concurrently and reports their
// results in order ([Each]).
package schedule

import (
	"context"
	"slices"
	"sync"
)

// Limiter limits concurrency with a total number of slots and a number of slots per
// key, for example per host. Slots are granted in the order of the requests, but a key
// without free slots doesn't delay other keys. [Limiter.Throttle] temporarily reduces a
// key's slots.
type Limiter struct {
	total, perKey int

	mu      sync.Mutex
	used    int
	keys    map[string]*key
	waiting []*waiter
}

// waiter waits for a slot. Closing granted grants it.
type waiter struct {
	key       string
	exclusive bool
	granted   chan struct{}
}

// NewLimiter returns a limiter. A limit below 1 means unlimited.
func NewLimiter(total, perKey int) *Limiter {
	return &Limiter{total: total, perKey: perKey, keys: map[string]*key{}}
}

// Exclusive returns a context for exclusive slots. With this context, [Limiter.Acquire]
// waits until no other slot of the key is in use. The key's other slots stay free until
// the exclusive slot is released. Later calls for the same key also wait, so the
// exclusive slot is eventually granted. After using the slot, call
// [Limiter.ExclusiveDone].
func Exclusive(ctx context.Context) context.Context {
	return context.WithValue(ctx, exclusiveKey{}, true)
}

type exclusiveKey struct{}

func isExclusive(ctx context.Context) bool { return ctx.Value(exclusiveKey{}) != nil }

// Acquire waits for a slot of the given key. Calling release frees the slot. Subsequent
// calls to release have no effect. If ctx is canceled first, Acquire returns the
// context's error.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := l.enter(key, isExclusive(ctx))
	select {
	case <-w.granted:
	case <-ctx.Done():
		if !l.leave(w) {
			// The slot was granted at the same moment.
			l.release(w)
		}
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() { l.release(w) }), nil
}

// enter adds a waiter to the queue. If a slot is free, enter grants it.
func (l *Limiter) enter(key string, exclusive bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.keys[key]; k != nil && k.failedExclusive >= maxFailedExclusive {
		exclusive = false
	}
	w := &waiter{key: key, exclusive: exclusive, granted: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.grant()
	return w
}

// leave removes a waiter from the queue and reports whether the queue contained it.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.grant() // an exclusive waiter might have delayed other waiters
	return true
}

func (l *Limiter) release(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	k := l.keys[w.key]
	k.used, k.exclusive = k.used-1, false
	if k.isIdle() {
		delete(l.keys, w.key)
	}
	l.grant()
}

// grant grants free slots to waiters in the order of the queue.
func (l *Limiter) grant() {
	var refused []string // keys without a free slot, or with a waiter for an exclusive slot
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		isFree := l.total < 1 || l.used < l.total
		switch {
		case !isFree || slices.Contains(refused, w.key):
			return false
		case !l.keys[w.key].isFree(w.exclusive, l.perKey):
			refused = append(refused, w.key)
			return false
		}
		l.used++
		k := l.key(w.key)
		k.used, k.exclusive = k.used+1, w.exclusive
		close(w.granted)
		return true
	})
}

// key returns the state of a key. If necessary, it creates the state.
func (l *Limiter) key(name string) *key {
	k := l.keys[name]
	if k == nil {
		k = &key{}
		l.keys[name] = k
	}
	return k
}
