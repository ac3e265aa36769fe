// Package memo keeps values that are dear to make.
package memo

import (
	"context"
	"sync"
	"time"
)

// Memo keeps values and makes each once, however many ask at the same time.
// Failures are told to all who wait and then forgotten. The zero value is ready,
// and keeps values as long as it lives itself.
type Memo[K comparable, V any] struct {
	// Lifetime is how long a value is kept; 0 is without end.
	Lifetime time.Duration
	// Now is the clock; nil is [time.Now].
	Now func() time.Time

	mu      sync.Mutex
	entries map[K]*entry[V]
	// swept is how many entries were left when those that had ended were removed.
	swept int
}

type entry[V any] struct {
	done chan struct{} // closed when value and err are set
	// abandoned: the maker's own context ended, which says nothing to others.
	abandoned bool
	// made is when it was begun; zero where nothing ends.
	made  time.Time
	value V
	err   error
}

// Get gives the value of a key, with fetch's help when nobody asked before, or so
// long ago that it does not count any more.
func (m *Memo[K, V]) Get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	for {
		e, ours := m.claim(key)
		if ours {
			e.value, e.err = fetch(ctx)
			e.abandoned = e.err != nil && ctx.Err() != nil
			if e.err != nil {
				m.forget(key, e)
			}
			close(e.done)
			return e.value, e.err
		}
		select {
		case <-e.done:
			if !e.abandoned {
				return e.value, e.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

func (m *Memo[K, V]) claim(key K) (e *entry[V], ours bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if e, known := m.entries[key]; known && !m.ended(e, now) {
		return e, false
	}
	if m.entries == nil {
		m.entries = map[K]*entry[V]{}
	}
	m.sweep(now)
	e = &entry[V]{done: make(chan struct{}), made: now}
	m.entries[key] = e
	return e, true
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

func (m *Memo[K, V]) ended(e *entry[V], now time.Time) bool {
	return m.Lifetime > 0 && now.Sub(e.made) >= m.Lifetime
}

// sweep removes what has ended, when there is twice as much as after the last
// time: a value that nobody asks for again must not stay for ever.
func (m *Memo[K, V]) sweep(now time.Time) {
	const few = 64
	if m.Lifetime == 0 || len(m.entries) < max(few, 2*m.swept) {
		return
	}
	for key, e := range m.entries {
		if m.ended(e, now) {
			delete(m.entries, key)
		}
	}
	m.swept = len(m.entries)
}

// Forget lets the value of a key be made again, if it was made.
func (m *Memo[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}

func (m *Memo[K, V]) forget(key K, e *entry[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] == e {
		delete(m.entries, key)
	}
}
