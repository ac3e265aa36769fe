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
// hold up the others.
type Limiter struct {
	total, perKey int

	mu      sync.Mutex
	used    int
	keys    map[string]int
	waiting []*waiter
}

// waiter waits for a slot; granted is closed when it has one.
type waiter struct {
	key     string
	granted chan struct{}
}

// NewLimiter makes a limiter. A limit below one is none.
func NewLimiter(total, perKey int) *Limiter {
	return &Limiter{total: total, perKey: perKey, keys: map[string]int{}}
}

// Acquire waits for a slot; the error is that of a context which ended before. The
// slot is free again when release is called, and more calls do nothing.
func (l *Limiter) Acquire(ctx context.Context, key string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := l.enter(key)
	select {
	case <-w.granted:
	case <-ctx.Done():
		if !l.leave(w) {
			// The slot came at the same moment.
			l.release(key)
		}
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() { l.release(key) }), nil
}

// enter takes a slot or a place in the queue.
func (l *Limiter) enter(key string) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &waiter{key: key, granted: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.grant()
	return w
}

// leave gives up a place in the queue, and tells whether it still was one.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiting, w)
	if at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	}
	return at >= 0
}

func (l *Limiter) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	if l.keys[key]--; l.keys[key] == 0 {
		delete(l.keys, key)
	}
	l.grant()
}

// grant serves who waits, the longest first.
func (l *Limiter) grant() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		isFree := l.total < 1 || l.used < l.total
		isFreeForKey := l.perKey < 1 || l.keys[w.key] < l.perKey
		if !isFree || !isFreeForKey {
			return false
		}
		l.used++
		l.keys[w.key]++
		close(w.granted)
		return true
	})
}
