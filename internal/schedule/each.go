package schedule

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// MaxItems is the maximum number of items that [Each] processes concurrently. The limit
// is high enough to use all requests and transfers that the pools allow, and low enough
// that an interrupted run leaves few items unfinished.
const MaxItems = 32

// Each calls do for the items 0 to n-1. It starts the items in this order and runs them
// concurrently. It calls report with the results in the caller's goroutine, in the
// order of the items. An item is reported as soon as it and all earlier items have
// finished. When ctx is canceled or do returns false for goOn, Each starts no more
// items, but waits for the started items and reports them. It returns the number of
// reported items.
func Each[R any](ctx context.Context, n int, do func(ctx context.Context, i int) (r R, goOn bool), report func(r R)) (reported int) {
	results, finished := make([]R, n), make(chan int)
	slots, turn := make(chan struct{}, MaxItems), NewLimiter(1, 0)
	var stopped atomic.Bool
	go func() {
		var group sync.WaitGroup
		defer close(finished)
		defer group.Wait()
		for i := range n {
			slots <- struct{}{}
			if stopped.Load() || ctx.Err() != nil {
				return
			}
			group.Go(func() {
				var goOn bool
				m := &memory{turn: turn}
				if results[i], goOn = do(context.WithValue(ctx, memoryKey{}, m), i); !goOn {
					stopped.Store(true)
				}
				m.free()
				finished <- i
				<-slots
			})
		}
	}()
	isFinished := make([]bool, n)
	for i := range finished {
		for isFinished[i] = true; reported < n && isFinished[reported]; reported++ {
			report(results[reported])
			var none R
			results[reported] = none // allows the result to be garbage-collected
		}
	}
	return reported
}

// All calls do for each item, with at most limit calls at a time. If a call fails, All
// cancels the context of the other calls and returns the error.
func All[T any](ctx context.Context, limit int, items []T, do func(ctx context.Context, i int, item T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i, item := range items {
		group.Go(func() error { return do(ctx, i, item) })
	}
	return group.Wait()
}
