package serve

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// entryCost is what an entry costs beside its value, in bytes: keys, headers, the
// list and the map of the cache.
const entryCost = 512

// memory keeps what was used last, up to a number of bytes. It is safe for
// concurrent use.
type memory[K comparable, V any] struct {
	limit int64

	mu   sync.Mutex
	size int64
	kept *simplelru.LRU[K, weighed[V]]
}

type weighed[V any] struct {
	value V
	size  int64
}

func newMemory[K comparable, V any](limit int64) *memory[K, V] {
	m := &memory[K, V]{limit: limit}
	// The number of entries is bounded by their bytes alone; the error is for a
	// number below one.
	m.kept, _ = simplelru.NewLRU(math.MaxInt32, func(_ K, w weighed[V]) { m.size -= w.size })
	return m
}

func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, found := m.kept.Get(key)
	return w.value, found
}

// put keeps a value of some bytes, and forgets what was not used for longest. A value
// that is larger than the whole memory is not kept.
func (m *memory[K, V]) put(key K, value V, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Remove(key)
	if size += entryCost; size > m.limit {
		return
	}
	for m.size+size > m.limit {
		m.kept.RemoveOldest()
	}
	m.kept.Add(key, weighed[V]{value, size})
	m.size += size
}

// keys gives the keys of what is kept.
func (m *memory[K, V]) keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Keys()
}

// forget lets something go.
func (m *memory[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Remove(key)
}

// bytes tells how much is kept.
func (m *memory[K, V]) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size
}
