package schedule

import (
	"context"
	"sync"
)

// MaxItems is how many items are under way at once. It keeps both pools busy, and
// an interrupted run leaves no more than so many unfinished.
const MaxItems = 32

// Each does n items, many at once, and begins them in their order. Results are
// told in that order too, each as soon as all before it were told, from the
// caller's goroutine. When the context ends, or do says not to go on, no further
// item is begun; what was begun is finished and told. It gives how many that were.
func Each[R any](ctx context.Context, n int, do func(ctx context.Context, i int) (r R, goOn bool), tell func(r R)) (told int) {
	run := &run{n: n, turn: NewLimiter(1, 0)}
	results := make([]R, n)
	finished := make(chan int)
	var group sync.WaitGroup
	for range min(n, MaxItems) {
		group.Go(func() {
			for i, more := run.begin(ctx); more; i, more = run.begin(ctx) {
				var goOn bool
				w := &weight{turn: run.turn}
				if results[i], goOn = do(context.WithValue(ctx, weightKey{}, w), i); !goOn {
					run.stop()
				}
				w.done()
				finished <- i
			}
		})
	}
	go func() {
		group.Wait()
		close(finished)
	}()
	isFinished := make([]bool, n)
	for i := range finished {
		for isFinished[i] = true; told < n && isFinished[told]; told++ {
			tell(results[told])
			var none R
			results[told] = none // which may be large
		}
	}
	return told
}

// run counts the items that were begun.
type run struct {
	n    int
	turn *Limiter // of items that hold much, see [Weigh]

	mu      sync.Mutex
	next    int
	stopped bool
}

// begin returns the next item.
func (r *run) begin(ctx context.Context) (i int, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.next == r.n || ctx.Err() != nil {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}
