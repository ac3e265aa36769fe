package schedule

import "context"

const (
	// MaxRequests is the maximum number of concurrent small requests in a run. Each
	// request uses a connection and some memory.
	MaxRequests = 64
	// MaxRequestsToHost is the maximum number of concurrent small requests to one host.
	// Registries can handle as many requests as a browser sends over one HTTP/2
	// connection. With more concurrent requests, the proxies in front of registries
	// start to fail some of them.
	MaxRequestsToHost = 32
	// MaxRequestsToOrigin is the maximum number of concurrent requests to one host of
	// an origin registry or its releases. These hosts throttle early and for a long
	// time.
	MaxRequestsToOrigin = 8
	// MaxSmall is the maximum size, in bytes, of a transfer that costs no more than a
	// small request.
	MaxSmall = 1 << 20
)

// NewRequests returns a pool of small requests, with hosts as keys.
func NewRequests() *Limiter { return NewLimiter(MaxRequests, MaxRequestsToHost) }

// NewOriginRequests returns a pool of requests to origin registries, with hosts as
// keys. A caller that holds one of its slots can acquire a slot from a [NewRequests]
// pool. The reverse order is not allowed.
func NewOriginRequests() *Limiter { return NewLimiter(0, MaxRequestsToOrigin) }

// Transfers is a pool of concurrent transfers of zips.
type Transfers struct{ large, small *Limiter }

// NewTransfers returns a pool with n slots for large zips and [MaxRequests] slots for
// small zips.
func NewTransfers(n int) *Transfers {
	return &Transfers{large: NewLimiter(n, 0), small: NewLimiter(MaxRequests, 0)}
}

// Acquire waits for a slot for a zip of the given size in bytes. If the size is
// unknown, size is -1. With a context from [Exclusive], no other zip is transferred
// until release is called. See [Limiter.Acquire].
func (t *Transfers) Acquire(ctx context.Context, size int64) (release func(), err error) {
	switch {
	case isExclusive(ctx):
		return t.acquireBoth(ctx)
	case 0 <= size && size <= MaxSmall:
		return t.small.Acquire(ctx, "")
	}
	return t.large.Acquire(ctx, "")
}

// acquireBoth first waits for large transfers, because they take longer.
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
