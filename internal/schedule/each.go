package schedule

import (
	"context"
	"sync"
	"sync/atomic"
)

// MaxItems is the maximum number of items that [Each] processes concurrently. It keeps both
// pools busy and limits the number of items that an interrupted run leaves unfinished.
const MaxItems = 32

// Each calls do for the items 0 to n-1, concurrently and in this order, and calls report
// with the results. It calls report from the caller's goroutine, in the order of the items,
// and for each item as soon as all earlier items are reported. Each starts no more items
// after ctx is canceled or do has returned false for goOn, but waits for the started items
// and reports them. It returns the number of reported items.
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
			results[reported] = none // lets the result be garbage collected
		}
	}
	return reported
}
