package transfer_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// host interrupts every transfer that overlaps with a different transfer.
type host struct {
	mu        sync.Mutex
	now, most int
	broken    bool // transfers are in progress
}

func (h *host) move() error {
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	h.broken = h.now > 1
	h.mu.Unlock()
	time.Sleep(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now--
	if h.broken {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// TestLastTryIsExclusive covers many small and large transfers with a host that can
// handle only one transfer at a time. All transfers must succeed although they start
// concurrently.
func TestLastTryIsExclusive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool, h := schedule.NewTransfers(4), &host{}
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() {
				size := []int64{1, schedule.MaxSmall + 1, -1}[i%3]
				slot, err := transfer.NewSlot(t.Context(), pool.Acquire, size)
				if err != nil {
					t.Error(err)
					return
				}
				defer slot.Release()
				if err := (transfer.Retrier{Slot: slot}).Do(t.Context(), "moving", h.move); err != nil {
					t.Errorf("transfer %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if h.most < 10 {
			t.Errorf("at most %d at once", h.most)
		}
	})
}

// TestLastTryCanceled checks that waiting for an exclusive slot ends when the context
// is canceled, and that it does not block other transfers.
func TestLastTryCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := schedule.NewTransfers(4)
		other, err := transfer.NewSlot(t.Context(), pool.Acquire, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		slot, err := transfer.NewSlot(ctx, pool.Acquire, -1)
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		err = transfer.Retrier{Slot: slot}.Do(ctx, "moving", func() error { tries++; return io.ErrUnexpectedEOF })
		slot.Release()
		if !errors.Is(err, context.DeadlineExceeded) || tries != transfer.MaxTries-1 {
			t.Errorf("%v after %d tries", err, tries)
		}
		for range 3 {
			if _, err := transfer.NewSlot(t.Context(), pool.Acquire, -1); err != nil {
				t.Error(err)
			}
		}
	})
}
