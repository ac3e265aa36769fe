package schedule

import "context"

const (
	// MaxRequests is how many small requests a run makes at once: some memory
	// and a connection each.
	MaxRequests = 64
	// MaxRequestsToHost is how many of them go to one host. Registries answer as
	// many as a browser's HTTP/2 connection would send, and more fail behind
	// their proxies.
	MaxRequestsToHost = 32
	// MaxRequestsToOrigin is how many of them go to one host of an origin registry
	// or its releases. Those throttle early, and then for a long time.
	MaxRequestsToOrigin = 8
	// MaxSmall is the size, in bytes, up to which a transfer costs no more than a
	// small request.
	MaxSmall = 1 << 20
)

// NewRequests makes the pool of small requests, by host.
func NewRequests() *Limiter { return NewLimiter(MaxRequests, MaxRequestsToHost) }

// NewOriginRequests makes the pool of requests to origin registries, by host. Who
// has a slot of it may ask for one of [NewRequests], and not the other way round.
func NewOriginRequests() *Limiter { return NewLimiter(0, MaxRequestsToOrigin) }

// Transfers is the pool of zips that move at the same time.
type Transfers struct{ large, small *Limiter }

// NewTransfers makes a pool for n zips. Small ones have slots of their own, as many
// as there are for requests.
func NewTransfers(n int) *Transfers {
	return &Transfers{large: NewLimiter(n, 0), small: NewLimiter(MaxRequests, 0)}
}

// Acquire waits until a zip of a size in bytes may move; a negative size is one that
// is not known. See [Limiter.Acquire]. With a context of [Alone] it is the only zip
// that moves, of either kind.
func (t *Transfers) Acquire(ctx context.Context, size int64) (release func(), err error) {
	switch {
	case isAlone(ctx):
		return t.acquireBoth(ctx)
	case 0 <= size && size <= MaxSmall:
		return t.small.Acquire(ctx, "")
	}
	return t.large.Acquire(ctx, "")
}

// acquireBoth waits for the large zips first, which takes longer.
func (t *Transfers) acquireBoth(ctx context.Context) (release func(), err error) {
	large, err := t.large.Acquire(ctx, "")
	if err != nil {
		return nil, err
	}
	small, err := t.small.Acquire(ctx, "")
	if err != nil {
		large()
		return nil, err
	}
	return func() { small(); large() }, nil
}
