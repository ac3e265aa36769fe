// Package memo caches values that are expensive to obtain. It is the only cache of this
// module.
//
// It does not use singleflight, whose keys are strings and whose callers either can't stop
// waiting (Do) or return before their own call has ended and removed its files (DoChan).
// It does not use golang-lru's expirable, which bounds the number of values and not their
// size, has no clock of its own, and starts a goroutine that never ends.
package memo

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Memo caches values by key and obtains each of them once, however many callers ask for it
// concurrently. The zero value is ready to use and keeps all values for as long as it
// lives. Set its fields before the first call.
type Memo[K comparable, V any] struct {
	// Lifetime is how long a value is kept, from when its call started; 0 is without end.
	Lifetime time.Duration
	// Size bounds the sum of SizeOf of the values; 0 is without bound. The values that
	// were not used for longest are removed first, and a value that is larger than Size
	// is not kept.
	Size int64
	// SizeOf returns the size of a value in the unit of Size; required with Size.
	SizeOf func(V) int64
	// Detached, if not 0, is how long a call may take. It then runs in a goroutine of its
	// own and continues if its callers stop waiting. Otherwise the first caller makes the
	// call with its own context; if that context ends, another caller makes the call again.
	Detached time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time

	mu    sync.Mutex
	kept  *simplelru.LRU[K, entry[V]]
	size  int64
	calls map[K]*call[V]
}

type entry[V any] struct {
	value V
	size  int64
	since time.Time // zero if nothing expires
}

// call is a call in progress.
type call[V any] struct {
	done  chan struct{} // closed when the other fields are set
	value V
	err   error
	// aborted reports that the caller's own context ended, or that the call panicked:
	// this concerns no other caller.
	aborted bool
}

// Get returns the value of a key: the kept one, or the result of fetch, which is kept
// unless it is an error. A caller whose context ends stops waiting for another's call.
func (m *Memo[K, V]) Get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	return m.get(ctx, key, fetch, true)
}

// Refresh is Get without the kept value, which stays if fetch fails.
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

// claim returns the call in progress, or a new one that the caller has to run. A kept value
// is returned as a call that is done.
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

// run makes a call and keeps its value.
func (m *Memo[K, V]) run(ctx context.Context, key K, c *call[V], fetch func(context.Context) (V, error)) {
	since := m.now()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.calls[key] == c { // not forgotten meanwhile
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

// Lookup returns the kept value of a key.
func (m *Memo[K, V]) Lookup(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookup(key)
}

// Put keeps a value.
func (m *Memo[K, V]) Put(key K, value V) {
	since := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, value, since)
}

// Forget removes the value of a key. The result of a call in progress is not kept.
func (m *Memo[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, key)
	m.remove(key)
}

// Keys returns the keys of all kept values.
func (m *Memo[K, V]) Keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		return nil
	}
	return m.kept.Keys()
}

// Used returns the size of all kept values.
func (m *Memo[K, V]) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}

// The methods below require the lock.

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
		m.kept, _ = simplelru.NewLRU[K, entry[V]](math.MaxInt32, nil) // the error is for a number below 1
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
