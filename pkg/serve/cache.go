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
	patience = 2 * time.Second
	// maxWait is how long a caller waits if there is none. Clients give up after ten
	// seconds, and learn nothing then.
	maxWait = 8 * time.Second
	// maxQuestion limits the duration of a request that callers no longer wait for. A late
	// answer serves the next caller.
	maxQuestion = 2 * time.Minute
	// maxQuestions limits the concurrent requests, including those that nobody waits for.
	maxQuestions = 512
	// entryCost is the memory of an entry in addition to its value, in bytes.
	entryCost = 512
)

// errBusy is returned if a limit is exceeded: for requests to repositories, for concurrent
// requests, or for the memory of responses.
var errBusy = errors.New("too much is under way")

// errLate is returned if a repository does not answer while a client waits.
var errLate = provider.Errorf(provider.Transient, "the repository has not answered in time")

// freshness specifies how long answers are served.
type freshness struct {
	// maxAge is the maximum age without a new request; 0 means forever.
	maxAge time.Duration
	// staleIfError is the maximum age if the new request fails.
	staleIfError time.Duration
	// failing is the pause after a failed request without an older answer, if longer than
	// failureAge.
	failing time.Duration
	now     func() time.Time
	// asking has room for a token of each request in progress.
	asking chan struct{}
	events Events
}

// state describes how an answer is known.
type state struct {
	// age is the time since it was learned.
	age time.Duration
	// stale is the reason why a due request did not renew it, or nil.
	stale error
}

// merge returns the state of an answer that is made of two.
func (s state) merge(t state) state {
	return state{max(s.age, t.age), errors.Join(s.stale, t.stale)}
}

// cache has answers of registries and origins by key. Concurrent callers cause one
// request, and a caller who leaves does not end it. If requests fail, it returns older
// answers for a limited time.
type cache[K comparable, V any] struct {
	freshness
	looked func(hit bool)
	failed func(error)
	kept   memo.Memo[K, learned[V]]
}

// learned is the last answer, and the failure after it.
type learned[V any] struct {
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
		freshness: f, looked: f.events.looks(name), failed: f.events.failed,
		kept: memo.Memo[K, learned[V]]{
			Size: size, SizeOf: func(l learned[V]) int64 { return entryCost + weigh(l.value) }, Detached: maxQuestion, Now: f.now,
		},
	}
}

// isAnswer reports whether an error is the answer that something does not exist.
func isAnswer(err error) bool {
	return isAbsent(err) || repository.IsUnknown(err) || errors.Is(err, api.ErrNoSBOM)
}

// get returns the known answer, or that of ask.
func (c *cache[K, V]) get(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, state, error) {
	return c.getWithin(ctx, key, c.maxAge, ask)
}

// getWithin is get with another maximum age.
func (c *cache[K, V]) getWithin(ctx context.Context, key K, maxAge time.Duration, ask func(context.Context) (V, error)) (none V, how state, err error) {
	// 1. What is known.
	known, _ := c.kept.Lookup(key)
	now := c.now()
	isUsable := known.answered && known.absent == nil && now.Sub(known.at) < c.staleIfError
	failedFor := now.Sub(known.tried)
	isFresh := known.isFresh(now, maxAge)
	hit := isFresh || known.failed != nil && (isUsable && failedFor < retryAfter || failedFor < max(c.failing, failureAge))
	c.looked(hit)
	switch {
	case isFresh:
		return known.value, state{age: now.Sub(known.at)}, known.absent
	case hit && isUsable:
		return known.value, state{now.Sub(known.at), known.failed}, nil
	case hit:
		return none, state{}, known.failed
	}
	// 2. What is new.
	wait := maxWait
	if isUsable {
		wait = patience
	}
	value, err := c.ask(ctx, key, maxAge, wait, ask)
	switch {
	case err == nil, isAnswer(err), ctx.Err() != nil:
		return value, state{}, err
	case isUsable || c.failing > 0:
		latest, _ := c.kept.Lookup(key)
		c.kept.Put(key, latest.after(c.now(), value, err)) // the next caller does not wait for a late answer, too
	}
	if isUsable {
		return known.value, state{now.Sub(known.at), err}, nil
	}
	return none, state{}, err
}

// isFresh reports whether no request is due.
func (l learned[V]) isFresh(now time.Time, maxAge time.Duration) bool {
	age := now.Sub(l.at)
	return l.answered && (maxAge == 0 || age < maxAge) && (l.absent == nil || age < negativeAge)
}

// after returns what is known after a request.
func (l learned[V]) after(now time.Time, value V, err error) learned[V] {
	switch {
	case err == nil:
		return learned[V]{answered: true, value: value, at: now}
	case isAnswer(err):
		return learned[V]{answered: true, absent: err, at: now}
	case l.absent != nil:
		l = learned[V]{}
	}
	l.failed, l.tried = err, now
	return l
}

// ask makes a request, or waits for that of another caller.
func (c *cache[K, V]) ask(ctx context.Context, key K, maxAge, wait time.Duration, ask func(context.Context) (V, error)) (none V, err error) {
	waiting, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	defer cancel()
	l, err := c.kept.Refresh(waiting, key, func(ctx context.Context) (learned[V], error) {
		known, _ := c.kept.Lookup(key)
		if known.isFresh(c.now(), maxAge) { // the request of another caller has just ended
			known.failed = nil
			return known, nil
		}
		select {
		case c.asking <- struct{}{}:
			defer func() { <-c.asking }()
		default:
			c.failed(errBusy)
			return known, errBusy
		}
		value, err := unbroken(ctx, ask)
		if err != nil && !isAnswer(err) {
			c.failed(err)
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
func unbroken[V any](ctx context.Context, ask func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the program broke: %v", broken)
		}
	}()
	return ask(ctx)
}

// lookup returns the last answer without a request. found is false for the answer that
// something does not exist.
func (c *cache[K, V]) lookup(key K) (value V, found bool) {
	l, _ := c.kept.Lookup(key)
	return l.value, l.answered && l.absent == nil
}
