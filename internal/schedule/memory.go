package schedule

import (
	"context"
	"sync"
)

// MaxShared is the maximum total size, in bytes, of the documents that an item of
// [Each] can hold while other items also hold documents. A release requires a few
// kilobytes of documents. Only hostile servers send more.
const MaxShared = 1 << 20

// ReserveMemory reserves memory for documents that the item of ctx is about to hold. If
// the item has reserved more than [MaxShared], ReserveMemory returns a function that
// waits for the item's turn. Otherwise, it returns nil. Items above [MaxShared] take
// turns, so a run requires little more memory than its largest item. If ctx is
// canceled, wait returns the context's error.
//
// Before the caller calls wait, it must release all large data and everything that
// other items wait for. Otherwise, two items could wait for each other.
func ReserveMemory(ctx context.Context, bytes int64) (wait func() error) {
	m, _ := ctx.Value(memoryKey{}).(*memory)
	if m == nil || !m.add(bytes) {
		return nil
	}
	return func() error { return m.wait(ctx) }
}

// WithoutReservation returns a context in which [ReserveMemory] has no effect. Use it
// for an item's work that other items wait for.
func WithoutReservation(ctx context.Context) context.Context {
	return context.WithValue(ctx, memoryKey{}, (*memory)(nil))
}

type memoryKey struct{}

// memory counts the bytes that one item has reserved.
type memory struct {
	turn *Limiter // one slot for all items

	waiting sync.Mutex // held while the item waits for its turn
	mu      sync.Mutex
	bytes   int64
	release func() // ends the item's turn; nil before the turn starts
}

// add reserves bytes and reports whether the item must wait for its turn.
func (m *memory) add(bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += bytes
	return m.bytes > MaxShared && m.release == nil
}

func (m *memory) wait(ctx context.Context) error {
	m.waiting.Lock()
	defer m.waiting.Unlock()
	if !m.add(0) {
		return nil
	}
	release, err := m.turn.Acquire(ctx, "")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release = release
	return err
}

// free ends the item's turn.
func (m *memory) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.release != nil {
		m.release()
	}
}
