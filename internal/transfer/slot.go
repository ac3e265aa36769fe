package transfer

import (
	"context"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// Acquire waits until a zip can be transferred. size is the zip's size in bytes, or -1
// if the size is unknown.
type Acquire func(ctx context.Context, size int64) (release func(), err error)

// Slot is the permission to transfer a zip in a pool of concurrent transfers.
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

// Release releases the slot. Subsequent calls have no effect.
func (s *Slot) Release() { s.release() }

// makeExclusive releases the slot and waits for an exclusive slot. It holds no slot
// while it waits, because other transfers might also wait for an exclusive slot.
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
