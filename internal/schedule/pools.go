package schedule

import "context"

const (
	// MaxRequests is the maximum number of concurrent small requests of a run. Each uses a
	// connection and some memory.
	MaxRequests = 64
	// MaxRequestsToHost is the maximum number of concurrent small requests to one host.
	// Registries handle as many as a browser sends over one HTTP/2 connection. With more,
	// requests start to fail behind their proxies.
	MaxRequestsToHost = 32
	// MaxRequestsToOrigin is the maximum number of concurrent requests to one host of an
	// origin registry or of its releases. These hosts throttle early and for a long time.
	MaxRequestsToOrigin = 8
	// MaxSmall is the maximum size, in bytes, of a transfer that costs no more than a small
	// request.
	MaxSmall = 1 << 20
)

// NewRequests returns a pool of small requests, with hosts as keys.
func NewRequests() *Limiter { return NewLimiter(MaxRequests, MaxRequestsToHost) }

// NewOriginRequests returns a pool of requests to origin registries, with hosts as keys. The
// holder of a slot may acquire a slot of [NewRequests], but not the other way round.
func NewOriginRequests() *Limiter { return NewLimiter(0, MaxRequestsToOrigin) }

// Transfers is a pool of concurrent transfers of zips.
type Transfers struct{ large, small *Limiter }

// NewTransfers returns a pool for n zips. Small zips have separate slots, as many as small
// requests.
func NewTransfers(n int) *Transfers {
	return &Transfers{large: NewLimiter(n, 0), small: NewLimiter(MaxRequests, 0)}
}

// Acquire waits for a slot for a zip of the given size in bytes, or -1 if the size is
// unknown. With a context of [Exclusive], no other zip is transferred until release is
// called. See [Limiter.Acquire].
func (t *Transfers) Acquire(ctx context.Context, size int64) (release func(), err error) {
	switch {
	case isExclusive(ctx):
		return t.acquireBoth(ctx)
	case 0 <= size && size <= MaxSmall:
		return t.small.Acquire(ctx, "")
	}
	return t.large.Acquire(ctx, "")
}

// acquireBoth waits for the large transfers first, which takes longer.
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
