package schedule_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// most records the maximum of a number.
type most struct {
	mu   sync.Mutex
	now  map[string]int
	high map[string]int
}

func newMost() *most { return &most{now: map[string]int{}, high: map[string]int{}} }

func (m *most) add(n int, keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		m.now[key] += n
		m.high[key] = max(m.high[key], m.now[key])
	}
}

// TestLimiterUnderLoad checks that, under load, all slots are used and the limit is not
// exceeded.
func TestLimiterUnderLoad(t *testing.T) {
	t.Parallel()
	const total, perKey = 5, 3
	synctest.Test(t, func(t *testing.T) {
		l, seen := schedule.NewLimiter(total, perKey), newMost()
		next := make(chan struct{})
		for i := range 200 {
			key := []string{"a", "a", "b"}[i%3]
			go func() {
				release, err := l.Acquire(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				seen.add(1, "all", key)
				<-next
				seen.add(-1, "all", key)
				release()
				release()
			}()
		}
		for range 200 {
			synctest.Wait()
			next <- struct{}{}
		}
		synctest.Wait()
		if seen.high["all"] != total || seen.high["a"] != perKey || seen.now["all"] != 0 {
			t.Errorf("at once %v, in the end %v", seen.high, seen.now)
		}
	})
}

// TestLimiterIsFair checks that slots are granted in order, and that a key's queue does
// not delay other keys.
func TestLimiterIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := schedule.NewLimiter(2, 1)
		release, err := l.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 5 {
			go func() {
				release, err := l.Acquire(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				release()
			}()
			synctest.Wait()
		}
		other, err := l.Acquire(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		if len(order) != 0 {
			t.Errorf("%v did not wait", order)
		}
		other()
		release()
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("served in the order %v", order)
		}
	})
}

// TestLimiterEndsWithTheContext checks that a canceled waiter does not keep a slot,
// even if the slot was granted at the same moment.
func TestLimiterEndsWithTheContext(t *testing.T) {
	t.Parallel()
	l := schedule.NewLimiter(1, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Acquire(ended, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var granted atomic.Int32
	for range 500 {
		release, err := l.Acquire(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if release, err := l.Acquire(ctx, ""); err == nil {
				granted.Add(1)
				release()
			}
		})
		group.Go(cancel)
		release()
		group.Wait()
	}
	release, err := l.Acquire(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	release()
	t.Logf("%d of 500 were granted", granted.Load())
}

// TestTransfers checks that small and large zips have separate slots, and that a zip of
// unknown size is treated as large.
func TestTransfers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool, seen := schedule.NewTransfers(4), newMost()
		end := make(chan struct{})
		for name, size := range map[string]int64{"small": schedule.MaxSmall, "large": schedule.MaxSmall + 1, "unknown": -1} {
			for range 100 {
				go func() {
					release, err := pool.Acquire(t.Context(), size)
					if err != nil {
						t.Error(err)
						return
					}
					kind := name
					if kind == "unknown" {
						kind = "large"
					}
					seen.add(1, kind)
					<-end
					seen.add(-1, kind)
					release()
				}()
			}
		}
		synctest.Wait()
		close(end)
		synctest.Wait()
		if seen.high["small"] != schedule.MaxRequests || seen.high["large"] != 4 {
			t.Errorf("at once %v", seen.high)
		}
	})
}
