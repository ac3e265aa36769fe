package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const (
	// negativeAge is the maximum age of the answer that something does not exist: a release
	// that was just pushed has to appear soon.
	negativeAge = 10 * time.Second
	// retryAfter is the pause after a failed request if an older answer can be served.
	retryAfter = 5 * time.Second
	// failureAge is the pause if there is no older answer.
	failureAge = time.Second
	// patience is how long a caller waits if there is an older answer.
	staleWait = 2 * time.Second
	// maxWait is how long a caller waits if there is none. Clients give up after ten
	// seconds, and learn nothing then.
	maxWait = 8 * time.Second
	// maxQuestion limits the duration of a request that callers no longer wait for. A late
	// answer serves the next caller.
	maxRequestTime = 2 * time.Minute
	// maxQuestions limits the concurrent requests, including those that nobody waits for.
	maxConcurrentRequests = 512
	// entryCost is the memory of an entry in addition to its value, in bytes.
	entryCost = 512
)

// errBusy is returned if a limit is exceeded: for requests to repositories, for concurrent
// requests, or for the memory of responses.
var errBusy = errors.New("too much is under way")

// errLate is returned if a repository does not answer while a client waits.
var errTimeout = provider.Errorf(provider.Transient, "the repository has not answered in time")

// freshness specifies how long answers are served.
type freshness struct {
	// maxAge is the maximum age without a new request; 0 means forever.
	maxAge time.Duration
	// staleIfError is the maximum age if the new request fails.
	staleIfError time.Duration
	// failing is the pause after a failed request without an older answer, if longer than
	// failureAge.
	retryPause time.Duration
	now        func() time.Time
	// asking has room for a token of each request in progress.
	requests chan struct{}
	events   Events
}

// state describes how an answer is known.
type cacheState struct {
	// age is the time since it was learned.
	age time.Duration
	// stale is the reason why a due request did not renew it, or nil.
	stale error
}

// merge returns the state of an answer that is made of two.
func (s cacheState) merge(t cacheState) cacheState {
	return cacheState{max(s.age, t.age), errors.Join(s.stale, t.stale)}
}

// cache has answers of registries and origins by key. Concurrent callers cause one
// request, and a caller who leaves does not end it. If requests fail, it returns older
// answers for a limited time.
type cache[K comparable, V any] struct {
	freshness
	onLookup  func(hit bool)
	onFailure func(error)
	kept      memo.Memo[K, cacheEntry[V]]
}

// learned is the last answer, and the failure after it.
type cacheEntry[V any] struct {
	// answered reports that there was an answer, at a time: a value, or that it is absent.
	answered bool
	value    V
	absent   error
	at       time.Time
	failed   error
	tried    time.Time
}

// newCache returns a cache with up to size bytes of values.
func newCache[K comparable, V any](f freshness, name string, size int64, weigh func(V) int64) *cache[K, V] {
	return &cache[K, V]{
		freshness: f, onLookup: f.events.lookups(name), onFailure: f.events.onFailure,
		kept: memo.Memo[K, cacheEntry[V]]{
			Size: size, SizeOf: func(l cacheEntry[V]) int64 { return entryCost + weigh(l.value) }, Detached: maxRequestTime, Now: f.now,
		},
	}
}

// isAnswer reports whether an error is the answer that something does not exist.
func isDefinitive(err error) bool {
	return isAbsent(err) || repository.IsUnknownProvider(err) || errors.Is(err, api.ErrNoSBOM)
}

// get returns the known answer, or that of ask.
func (c *cache[K, V]) get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (V, cacheState, error) {
	return c.getWithin(ctx, key, c.maxAge, fetch)
}

// getWithin is get with another maximum age.
func (c *cache[K, V]) getWithin(ctx context.Context, key K, maxAge time.Duration, fetch func(context.Context) (V, error)) (none V, state cacheState, err error) {
	// 1. What is known.
	known, _ := c.kept.Lookup(key)
	now := c.now()
	isUsable := known.answered && known.absent == nil && now.Sub(known.at) < c.staleIfError
	failedFor := now.Sub(known.tried)
	isFresh := known.isFresh(now, maxAge)
	hit := isFresh || known.failed != nil && (isUsable && failedFor < retryAfter || failedFor < max(c.retryPause, failureAge))
	c.onLookup(hit)
	switch {
	case isFresh:
		return known.value, cacheState{age: now.Sub(known.at)}, known.absent
	case hit && isUsable:
		return known.value, cacheState{now.Sub(known.at), known.failed}, nil
	case hit:
		return none, cacheState{}, known.failed
	}
	// 2. What is new.
	wait := maxWait
	if isUsable {
		wait = staleWait
	}
	value, err := c.refresh(ctx, key, maxAge, wait, fetch)
	switch {
	case err == nil, isDefinitive(err), ctx.Err() != nil:
		return value, cacheState{}, err
	case isUsable || c.retryPause > 0:
		latest, _ := c.kept.Lookup(key)
		c.kept.Put(key, latest.after(c.now(), value, err)) // the next caller does not wait for a late answer, too
	}
	if isUsable {
		return known.value, cacheState{now.Sub(known.at), err}, nil
	}
	return none, cacheState{}, err
}

// isFresh reports whether no request is due.
func (l cacheEntry[V]) isFresh(now time.Time, maxAge time.Duration) bool {
	age := now.Sub(l.at)
	return l.answered && (maxAge == 0 || age < maxAge) && (l.absent == nil || age < negativeAge)
}

// after returns what is known after a request.
func (l cacheEntry[V]) after(now time.Time, value V, err error) cacheEntry[V] {
	switch {
	case err == nil:
		return cacheEntry[V]{answered: true, value: value, at: now}
	case isDefinitive(err):
		return cacheEntry[V]{answered: true, absent: err, at: now}
	case l.absent != nil:
		l = cacheEntry[V]{}
	}
	l.failed, l.tried = err, now
	return l
}

// ask makes a request, or waits for that of another caller.
func (c *cache[K, V]) refresh(ctx context.Context, key K, maxAge, wait time.Duration, fetch func(context.Context) (V, error)) (none V, err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errTimeout)
	defer cancel()
	l, err := c.kept.Refresh(waiting, key, func(ctx context.Context) (cacheEntry[V], error) {
		known, _ := c.kept.Lookup(key)
		if known.isFresh(c.now(), maxAge) { // the request of another caller has just ended
			known.failed = nil
			return known, nil
		}
		select {
		case c.requests <- struct{}{}:
			defer func() { <-c.requests }()
		default:
			c.onFailure(errBusy)
			return known, errBusy
		}
		value, err := recovering(ctx, fetch)
		if err != nil && !isDefinitive(err) {
			c.onFailure(err)
		}
		known, _ = c.kept.Lookup(key)
		return known.after(c.now(), value, err), nil
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

// unbroken returns a panic as an error: it is not in the goroutine of an HTTP request,
// and would end the program.
func recovering[V any](ctx context.Context, fetch func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the program broke: %v", broken)
		}
	}()
	return fetch(ctx)
}

// lookup returns the last answer without a request. found is false for the answer that
// something does not exist.
func (c *cache[K, V]) lookup(key K) (value V, found bool) {
	l, _ := c.kept.Lookup(key)
	return l.value, l.answered && l.absent == nil
}
