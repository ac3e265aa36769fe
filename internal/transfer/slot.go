package transfer

import (
	"context"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// Acquire waits until a zip of a size in bytes may move, -1 when it is not known.
type Acquire func(ctx context.Context, size int64) (release func(), err error)

// Slot is a zip's place among those that move at the same time.
type Slot struct {
	acquire Acquire
	size    int64
	release func()
}

// NewSlot waits for a slot.
func NewSlot(ctx context.Context, acquire Acquire, size int64) (*Slot, error) {
	s := &Slot{acquire: acquire, size: size}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Release returns the slot back. More calls do nothing.
func (s *Slot) Release() { s.release() }

// alone hands the slot back, and waits for one that nothing else moves beside. It
// has none meanwhile: others may wait for the same.
func (s *Slot) makeExclusive(ctx context.Context) error {
	s.release()
	return s.take(schedule.Exclusive(ctx))
}

func (s *Slot) take(ctx context.Context) error {
	release, err := s.acquire(ctx, s.size)
	if err == nil {
		s.release = sync.OnceFunc(release)
	}
	return err
}
