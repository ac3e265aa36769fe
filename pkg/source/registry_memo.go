package source

import (
	"context"
	"sync"
)

// memo keeps values for the run and makes each once, however many ask at the
// same time. Failures are told to all who wait and then forgotten. The zero
// value is ready.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*memoEntry[V]
}

type memoEntry[V any] struct {
	done chan struct{} // closed when value and err are set
	// abandoned: the maker's own context ended, which says nothing to others.
	abandoned bool
	value     V
	err       error
}

// get gives the value of a key, with fetch's help when nobody asked before.
func (m *memo[K, V]) get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, error) {
	for {
		entry, ours := m.claim(key)
		if ours {
			entry.value, entry.err = fetch(ctx)
			entry.abandoned = entry.err != nil && ctx.Err() != nil
			if entry.err != nil {
				m.forget(key)
			}
			close(entry.done)
			return entry.value, entry.err
		}
		select {
		case <-entry.done:
			if !entry.abandoned {
				return entry.value, entry.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

func (m *memo[K, V]) claim(key K) (entry *memoEntry[V], ours bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry, known := m.entries[key]; known {
		return entry, false
	}
	if m.entries == nil {
		m.entries = map[K]*memoEntry[V]{}
	}
	entry = &memoEntry[V]{done: make(chan struct{})}
	m.entries[key] = entry
	return entry, true
}

func (m *memo[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
}
