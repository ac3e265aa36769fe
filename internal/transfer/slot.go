package transfer

import (
	"context"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

// Acquire waits until a zip of the given size in bytes, or -1 if unknown, can be
// transferred.
type Acquire func(ctx context.Context, size int64) (release func(), err error)

// Slot is permission for a zip to be transferred, in a pool of concurrent transfers.
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

// Release releases the slot. Further calls have no effect.
func (s *Slot) Release() { s.release() }

// makeExclusive releases the slot and waits for an exclusive one. It has no slot in
// between, because other transfers might wait for the same.
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
