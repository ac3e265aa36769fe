package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const (
	// negativeAge is the maximum age of a not-found result. It is short, so that a
	// newly pushed release appears soon.
	negativeAge = 10 * time.Second
	// healthAge is the maximum age of a check of the registries. It is short, so that the
	// server is ready soon after the registries recover.
	healthAge = 5 * time.Second
	// retryAfter is the pause after a failed request if stale data is available.
	retryAfter = 5 * time.Second
	// failureAge is the pause after a failed request if no stale data is available.
	failureAge = time.Second
	// maxConcurrentRequests limits the number of concurrent requests, including
	// requests that no caller is waiting for.
	maxConcurrentRequests = 512
	// entryCost is the memory that an entry uses in addition to its value, in bytes.
	entryCost = 512
)

// errBusy is returned if a limit is exceeded. The limits apply to requests to
// repositories, requests from clients, and the memory for responses.
var errBusy = errors.New("the server is busy")

// errTimeout is returned if a repository does not respond in time.
var errTimeout = provider.Errorf(provider.Transient, "the repository did not respond in time")

// freshness specifies how long cached values are served.
type freshness struct {
	// maxAge is the age after which a value is requested again. If zero, values never
	// expire.
	maxAge time.Duration
	// staleIfError is the maximum age of a value that is served if a new request fails.
	staleIfError time.Duration
	// retryPause is the pause after a failed request if no stale data is available. It
	// is ignored if it is shorter than failureAge.
	retryPause time.Duration
	now        func() time.Time
	timeouts   timeouts
	// requests is a semaphore for the requests in progress.
	requests chan struct{}
	events   Events
}

// cacheState describes the age of a cached value.
type cacheState struct {
	// age is the time since the value was requested.
	age time.Duration
	// stale is the error from the request that should have renewed the value, or nil.
	stale error
}

// merge returns the combined state of two cached values.
func (s cacheState) merge(t cacheState) cacheState {
	return cacheState{max(s.age, t.age), errors.Join(s.stale, t.stale)}
}

// cache caches values from registries and origins. Concurrent callers share one
// request, which continues even if all callers stop waiting. If a request fails, the
// cache serves stale values for a limited time.
type cache[K comparable, V any] struct {
	freshness
	onLookup  func(hit bool)
	onFailure func(error)
	kept      memo.Memo[K, cacheEntry[V]]
}

// cacheEntry contains the last result and any failure that followed.
type cacheEntry[V any] struct {
	// hasResult reports whether a result was fetched at fetchedAt. If the value exists,
	// value contains it. Otherwise, absent contains the not-found error.
	hasResult bool
	value     V
	absent    error
	fetchedAt time.Time
	failed    error
	tried     time.Time
}

// newCache returns a cache for values of at most size bytes in total.
func newCache[K comparable, V any](f freshness, name string, size int64, weigh func(V) int64) *cache[K, V] {
	return &cache[K, V]{
		freshness: f, onLookup: f.events.lookups(name), onFailure: f.events.onFailure,
		kept: memo.Memo[K, cacheEntry[V]]{
			Size: size, SizeOf: func(l cacheEntry[V]) int64 { return entryCost + weigh(l.value) }, Detached: f.timeouts.detached, Now: f.now,
		},
	}
}

// isDefinitive reports whether an error means that a value doesn't exist. Such an error
// can be cached.
func isDefinitive(err error) bool {
	return isAbsent(err) || repository.IsUnknownProvider(err)
}

// get returns the cached value, or calls fetch.
func (c *cache[K, V]) get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, cacheState, error) {
	return c.getWithin(ctx, key, c.maxAge, fetch)
}

// getWithin is like get, but uses the given maximum age.
func (c *cache[K, V]) getWithin(ctx context.Context, key K, maxAge time.Duration, fetch func(context.Context) (V, error)) (none V, state cacheState, err error) {
	// 1. Check the cached value.
	entry, _ := c.kept.Lookup(key)
	now := c.now()
	isUsable := entry.hasResult && entry.absent == nil && now.Sub(entry.fetchedAt) < c.staleIfError
	failedFor := now.Sub(entry.tried)
	isFresh := entry.isFresh(now, maxAge)
	hit := isFresh || entry.failed != nil && (isUsable && failedFor < retryAfter || failedFor < max(c.retryPause, failureAge))
	c.onLookup(hit)
	switch {
	case isFresh:
		return entry.value, cacheState{age: now.Sub(entry.fetchedAt)}, entry.absent
	case hit && isUsable:
		return entry.value, cacheState{now.Sub(entry.fetchedAt), entry.failed}, nil
	case hit:
		return none, cacheState{}, entry.failed
	}
	// 2. Request a new value.
	wait := c.timeouts.response
	if isUsable {
		wait = c.timeouts.stale
	}
	value, err := c.refresh(ctx, key, maxAge, wait, fetch)
	switch {
	case err == nil, isDefinitive(err), ctx.Err() != nil:
		return value, cacheState{}, err
	case isUsable || c.retryPause > 0:
		latest, _ := c.kept.Lookup(key)
		c.kept.Put(key, latest.after(c.now(), value, err)) // ensures that the next caller doesn't wait
	}
	if isUsable {
		return entry.value, cacheState{now.Sub(entry.fetchedAt), err}, nil
	}
	return none, cacheState{}, err
}

// isFresh reports whether the entry can be used without a new request.
func (l cacheEntry[V]) isFresh(now time.Time, maxAge time.Duration) bool {
	age := now.Sub(l.fetchedAt)
	return l.hasResult && (maxAge == 0 || age < maxAge) && (l.absent == nil || age < negativeAge)
}

// after returns the entry, updated with the result of a request.
func (l cacheEntry[V]) after(now time.Time, value V, err error) cacheEntry[V] {
	switch {
	case err == nil:
		return cacheEntry[V]{hasResult: true, value: value, fetchedAt: now}
	case isDefinitive(err):
		return cacheEntry[V]{hasResult: true, absent: err, fetchedAt: now}
	case l.absent != nil:
		l = cacheEntry[V]{}
	}
	l.failed, l.tried = err, now
	return l
}

// refresh calls fetch, or waits for the result of a concurrent caller.
func (c *cache[K, V]) refresh(ctx context.Context, key K, maxAge, wait time.Duration, fetch func(context.Context) (V, error)) (none V, err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errTimeout)
	defer cancel()
	l, err := c.kept.Refresh(waiting, key, func(ctx context.Context) (cacheEntry[V], error) {
		entry, _ := c.kept.Lookup(key)
		if entry.isFresh(c.now(), maxAge) { // a concurrent caller has just renewed the entry
			entry.failed = nil
			return entry, nil
		}
		select {
		case c.requests <- struct{}{}:
			defer func() { <-c.requests }()
		default:
			c.onFailure(errBusy)
			return entry, errBusy
		}
		value, err := recovering(ctx, fetch)
		if err != nil && !isDefinitive(err) {
			c.onFailure(err)
		}
		entry, _ = c.kept.Lookup(key)
		return entry.after(c.now(), value, err), nil
	})
	switch {
	case err != nil && waiting.Err() != nil:
		return none, context.Cause(waiting)
	case err != nil:
		return none, err
	case l.failed != nil:
		return none, l.failed
	}
	return l.value, l.absent
}

// recovering calls fetch and converts a panic into an error. fetch runs in a separate
// goroutine, where a panic would terminate the program.
func recovering[V any](ctx context.Context, fetch func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("internal error: %v", recovered)
		}
	}()
	return fetch(ctx)
}

// hasValue reports whether any value is cached. Failures and not-found results don't count.
func (c *cache[K, V]) hasValue() bool {
	return slices.ContainsFunc(c.kept.Keys(), func(key K) bool {
		_, found := c.lookup(key)
		return found
	})
}

// lookup returns the cached value and never sends a request. found is false if no value
// is cached or if the value doesn't exist.
func (c *cache[K, V]) lookup(key K) (value V, found bool) {
	l, _ := c.kept.Lookup(key)
	return l.value, l.hasResult && l.absent == nil
}
