// Package memo caches values that are expensive to obtain.
//
// The package does not use singleflight, because singleflight's keys are strings.
// Callers of singleflight either cannot stop waiting (Do), or can return before the
// call has ended and removed its files (DoChan). The package does not use golang-lru's
// expirable either, because expirable limits the number of values instead of their
// size, has no clock for tests, and starts a goroutine that never exits.
package memo

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Memo caches values by key. Concurrent calls for a key obtain the value only once. The
// zero value is ready to use and never removes values. Set the fields before the first
// call.
type Memo[K comparable, V any] struct {
	// Lifetime is how long a value is cached, measured from the start of the call that
	// obtained it. If 0, values never expire.
	Lifetime time.Duration
	// Size limits the sum of SizeOf over all values. If 0, the sum is unlimited. The
	// least recently used values are removed first. A value that is larger than Size is
	// not cached.
	Size int64
	// SizeOf returns a value's size in the unit of Size. It is required if Size is set.
	SizeOf func(V) int64
	// Detached, if not 0, is the maximum duration of a call. The call then runs in a
	// separate goroutine and continues even if its callers stop waiting. If 0, the
	// first caller makes the call with its own context. If that context is canceled,
	// another caller makes the call again.
	Detached time.Duration
	// Now returns the current time. If nil, [time.Now] is used.
	Now func() time.Time

	mu    sync.Mutex
	kept  *simplelru.LRU[K, entry[V]]
	size  int64
	calls map[K]*call[V]
}

type entry[V any] struct {
	value V
	size  int64
	since time.Time // zero if values never expire
}

// call is a call in progress.
type call[V any] struct {
	done  chan struct{} // closed when the remaining fields are set
	value V
	err   error
	// aborted reports whether the caller's context was canceled or the call panicked.
	// The other callers are not affected.
	aborted bool
}

// Get returns a key's cached value or the result of fetch. The result is cached unless
// fetch returns an error. If ctx is canceled, Get stops waiting for a call that another
// caller makes.
func (m *Memo[K, V]) Get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	return m.get(ctx, key, fetch, true)
}

// Refresh is like Get, but ignores the cached value. If fetch fails, the cached value
// is kept.
func (m *Memo[K, V]) Refresh(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	return m.get(ctx, key, fetch, false)
}

func (m *Memo[K, V]) get(ctx context.Context, key K, fetch func(context.Context) (V, error), mayBeKept bool) (none V, err error) {
	for {
		c, isOurs := m.claim(key, mayBeKept)
		switch {
		case isOurs && m.Detached == 0:
			m.run(ctx, key, c, fetch)
			return c.value, c.err
		case isOurs:
			go func() {
				detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.Detached)
				defer cancel()
				m.run(detached, key, c, fetch)
			}()
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return none, ctx.Err()
		}
		if !c.aborted {
			return c.value, c.err
		}
	}
}

// claim returns the call in progress, or a new call that the caller must run. It
// returns a cached value as a completed call.
func (m *Memo[K, V]) claim(key K, mayBeKept bool) (c *call[V], isOurs bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mayBeKept {
		if value, isKept := m.lookup(key); isKept {
			c = &call[V]{done: make(chan struct{}), value: value}
			close(c.done)
			return c, false
		}
	}
	if c, inProgress := m.calls[key]; inProgress {
		return c, false
	}
	if m.calls == nil {
		m.calls = map[K]*call[V]{}
	}
	c = &call[V]{done: make(chan struct{}), aborted: true}
	m.calls[key] = c
	return c, true
}

// run makes a call and caches its value.
func (m *Memo[K, V]) run(ctx context.Context, key K, c *call[V], fetch func(context.Context) (V, error)) {
	since := m.now()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.calls[key] == c { // true unless Forget was called during the call
			delete(m.calls, key)
			if c.err == nil && !c.aborted {
				m.keep(key, c.value, since)
			}
		}
		close(c.done)
	}()
	c.value, c.err = fetch(ctx)
	c.aborted = c.err != nil && ctx.Err() != nil && m.Detached == 0
}

// Lookup returns the cached value for a key.
func (m *Memo[K, V]) Lookup(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookup(key)
}

// Put caches a value.
func (m *Memo[K, V]) Put(key K, value V) {
	since := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, value, since)
}

// Forget removes a key's value. If a call is in progress, its result is not cached.
func (m *Memo[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, key)
	m.remove(key)
}

// Keys returns the keys of all cached values.
func (m *Memo[K, V]) Keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		return nil
	}
	return m.kept.Keys()
}

// The following methods require the lock.

func (m *Memo[K, V]) lookup(key K) (none V, isKept bool) {
	if m.kept == nil {
		return none, false
	}
	e, isKept := m.kept.Get(key)
	if !isKept || m.hasExpired(e) {
		return none, false
	}
	return e.value, true
}

func (m *Memo[K, V]) keep(key K, value V, since time.Time) {
	if m.kept == nil {
		m.kept, _ = simplelru.NewLRU[K, entry[V]](math.MaxInt32, nil) // fails only for a size below 1
	}
	m.remove(key)
	e := entry[V]{value: value, since: since}
	if m.Size > 0 {
		e.size = m.SizeOf(value)
		if e.size > m.Size {
			return
		}
	}
	for {
		oldest, e2, found := m.kept.GetOldest()
		if !found || !m.hasExpired(e2) && m.size+e.size <= m.Size {
			break
		}
		m.remove(oldest)
	}
	m.kept.Add(key, e)
	m.size += e.size
}

func (m *Memo[K, V]) remove(key K) {
	if m.kept == nil {
		return
	}
	if e, found := m.kept.Peek(key); found {
		m.size -= e.size
		m.kept.Remove(key)
	}
}

func (m *Memo[K, V]) hasExpired(e entry[V]) bool {
	return m.Lifetime > 0 && m.now().Sub(e.since) >= m.Lifetime
}

func (m *Memo[K, V]) now() time.Time {
	switch {
	case m.Lifetime == 0:
		return time.Time{}
	case m.Now != nil:
		return m.Now()
	}
	return time.Now()
}
