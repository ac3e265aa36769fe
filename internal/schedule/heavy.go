package schedule

import (
	"context"
	"sync"
)

// MaxLight is how many bytes of documents an item of [Each] may hold beside others.
// Releases have a few kilobytes; more is what hostile servers send.
const MaxLight = 1 << 20

// Weigh counts bytes of documents which the item of a context is about to hold, and
// gives what to wait for before it holds them; nil is nothing. Items that have more
// than [MaxLight] go one after the other from there, so that a run takes not much
// more memory than the largest of them. Waiting fails with a context that ends.
//
// Whoever waits must hold nothing that another item waits for, since the wait may be
// for that one, and nothing large.
func Weigh(ctx context.Context, bytes int64) (wait func() error) {
	w, _ := ctx.Value(weightKey{}).(*weight)
	if w == nil || !w.add(bytes) {
		return nil
	}
	return func() error { return w.wait(ctx) }
}

// Unweighed is for what an item does while others wait for it.
func Unweighed(ctx context.Context) context.Context {
	return context.WithValue(ctx, weightKey{}, (*weight)(nil))
}

type weightKey struct{}

// weight is what an item holds; turn has one slot for all items.
type weight struct {
	turn *Limiter

	waiting sync.Mutex // for the turn, once for the item
	mu      sync.Mutex
	bytes   int64
	release func() // set when it is the item's turn
}

// add reports whether the item has to wait for its turn.
func (w *weight) add(bytes int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += bytes
	return w.bytes > MaxLight && w.release == nil
}

func (w *weight) wait(ctx context.Context) error {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	if !w.add(0) {
		return nil
	}
	release, err := w.turn.Acquire(ctx, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release = release
	return err
}

// done ends the item's turn.
func (w *weight) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.release != nil {
		w.release()
	}
}
