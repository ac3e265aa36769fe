package schedule_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// TestReserveMemory checks that small items run concurrently, and that large items run one at a
// time.
func TestReserveMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bytes   int64
		context func(context.Context) context.Context
		most    int
	}{
		"light":          {schedule.MaxShared / 4, nil, 8},
		"heavy":          {schedule.MaxShared/4 + 1, nil, 1},
		"no reservation": {schedule.MaxShared, schedule.WithoutReservation, 8},
		"not items'":     {schedule.MaxShared, func(context.Context) context.Context { return t.Context() }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var now, most, ended int
				count := func(n int) {
					mu.Lock()
					defer mu.Unlock()
					now += n
					most = max(most, now)
				}
				schedule.Each(t.Context(), 8, func(ctx context.Context, _ int) (error, bool) {
					if test.context != nil {
						ctx = test.context(ctx)
					}
					// An item's reservation includes all goroutines of the item.
					var group sync.WaitGroup
					for range 4 {
						group.Go(func() {
							if wait := schedule.ReserveMemory(ctx, test.bytes); wait != nil {
								if err := wait(); err != nil {
									t.Error(err)
								}
							}
						})
					}
					group.Wait()
					count(1)
					defer count(-1)
					time.Sleep(time.Second)
					return nil, true
				}, func(error) { ended++ })
				if most != test.most || ended != 8 {
					t.Errorf("%d at once, %d ended", most, ended)
				}
			})
		})
	}
}

// TestReserveMemoryCanceled checks that waiting for a turn ends when the context is canceled.
func TestReserveMemoryCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var failed atomic.Int64
		schedule.Each(ctx, 3, func(ctx context.Context, _ int) (error, bool) {
			err := schedule.ReserveMemory(ctx, schedule.MaxShared+1)()
			if errors.Is(err, context.Canceled) {
				failed.Add(1)
				return err, true
			}
			time.Sleep(time.Second) // until all other goroutines wait
			cancel()
			return err, true
		}, func(error) {})
		if failed.Load() != 2 {
			t.Errorf("%d of the 2 that waited failed", failed.Load())
		}
	})
}
