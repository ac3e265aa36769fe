package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// negativeAge is how long it is believed that something is not there, at most: a
	// release that was just pushed has to appear soon.
	negativeAge = 10 * time.Second
	// retryAfter is how long nothing is asked again after a failure, where something
	// older is there to be served.
	retryAfter = 5 * time.Second
	// failureAge is the same where nothing else is there.
	failureAge = time.Second
	// patience is how long a caller waits for news while something older is known.
	patience = 2 * time.Second
	// maxWait is how long a caller waits where nothing is known. Clients give up after
	// ten seconds, and learn nothing then.
	maxWait = 8 * time.Second
	// maxQuestion is how long a question may take, whoever waits for it. What arrives
	// late is there for the next caller.
	maxQuestion = 2 * time.Minute
	// maxQuestions is how many are under way, those included that nobody waits for any
	// more.
	maxQuestions = 512
)

// errBusy is returned if a limit is exceeded: for requests to repositories, for concurrent
// requests, or for the memory of responses.
var errBusy = errors.New("too much is under way")

// freshness says how long what is known may be served.
type freshness struct {
	// maxAge is how long without asking again; 0 is for ever.
	maxAge time.Duration
	// staleIfError is how long, from when it was learned, when asking fails.
	staleIfError time.Duration
	// failing is how long nothing is asked again after a failure where nothing else is
	// there; 0 is [failureAge].
	failing time.Duration
	now     func() time.Time
	// asking has room for a token of each question under way.
	asking chan struct{}
}

// state says how an answer is known.
type state struct {
	// age is how long ago it was learned.
	age time.Duration
	// stale is why it was not learned anew though it was due; nil when it is fresh.
	stale error
}

// merge gives the state of an answer that is made of two.
func (s state) merge(t state) state {
	return state{max(s.age, t.age), errors.Join(s.stale, t.stale)}
}

// recent is what was learned lately, by key. Several callers who ask for the same
// thing ask once, and one who leaves does not end the question of the others.
type recent[K comparable, V any] struct {
	freshness
	// weigh gives the bytes of a value.
	weigh func(V) int64
	// absent tells an error that is an answer, such as "not found", from trouble.
	absent func(error) bool
	// looked is told of each look, failed of each question that came to nothing; both
	// may be nil.
	looked func(hit bool)
	failed func(error)

	kept   *memory[K, learned[V]]
	flight singleflight.Group
}

// learned is the last answer, and the last failure after it.
type learned[V any] struct {
	// answered tells that there was an answer at all.
	answered bool
	value    V
	// absent is the answer that there is nothing.
	absent error
	at     time.Time
	failed error
	tried  time.Time
}

func newRecent[K comparable, V any](f freshness, limit int64, weigh func(V) int64, absent func(error) bool) *recent[K, V] {
	return &recent[K, V]{freshness: f, weigh: weigh, absent: absent, kept: newMemory[K, learned[V]](limit)}
}

// get gives what is known, or what ask finds out.
func (r *recent[K, V]) get(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, state, error) {
	return r.getWithin(ctx, key, r.maxAge, ask)
}

// getWithin is get for who is content with older answers than others.
func (r *recent[K, V]) getWithin(ctx context.Context, key K, maxAge time.Duration, ask func(context.Context) (V, error)) (V, state, error) {
	known, found := r.kept.get(key)
	now := r.now()
	fresh := found && known.fresh(now, maxAge)
	failing := found && !fresh && known.failed != nil
	switch {
	case fresh:
		r.look(true)
		return known.answer(now, nil)
	case failing && r.usable(known, now) && now.Sub(known.tried) < retryAfter:
		r.look(true)
		return known.answer(now, known.failed)
	case failing && now.Sub(known.tried) < max(r.failing, failureAge):
		r.look(true)
		return known.value, state{}, known.failed
	}
	r.look(false)
	wait := maxWait
	if found && r.usable(known, now) {
		wait = patience
	}
	value, err := r.question(ctx, key, wait, func(ctx context.Context) (V, error) {
		// Another question may have ended since the look.
		if known, found := r.kept.get(key); found && known.fresh(r.now(), maxAge) {
			return known.value, known.absent
		}
		return r.learn(ctx, key, ask)
	})
	switch {
	case err == nil:
		return value, state{}, nil
	case r.absent(err) || ctx.Err() != nil:
		return value, state{}, err
	case found && r.usable(known, now):
		r.note(key, value, err) // an answer that is late yet, too
		return known.answer(now, err)
	case r.failing > 0:
		r.note(key, value, err) // the next one need not wait as long
	}
	return value, state{}, err
}

func (r *recent[K, V]) look(hit bool) {
	if r.looked != nil {
		r.looked(hit)
	}
}

// fresh tells whether nothing has to be asked.
func (l learned[V]) fresh(now time.Time, maxAge time.Duration) bool {
	if !l.answered {
		return false
	}
	age := now.Sub(l.at)
	if l.absent != nil {
		return age < negativeAge && (maxAge == 0 || age < maxAge)
	}
	return maxAge == 0 || age < maxAge
}

// usable tells whether an old answer may be given when there is no new one.
func (r *recent[K, V]) usable(l learned[V], now time.Time) bool {
	return l.answered && l.absent == nil && now.Sub(l.at) < r.staleIfError
}

func (l learned[V]) answer(now time.Time, stale error) (V, state, error) {
	return l.value, state{age: now.Sub(l.at), stale: stale}, l.absent
}

// lateError says that the repository did not answer while the caller could wait.
type lateError struct{ waited time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("the repository has not answered within %s", e.waited)
}

// question asks, or waits for who asks already, up to a time.
func (r *recent[K, V]) question(ctx context.Context, key K, wait time.Duration, ask func(context.Context) (V, error)) (V, error) {
	answers := r.flight.DoChan(fmt.Sprint(key), func() (any, error) {
		select {
		case r.asking <- struct{}{}:
			defer func() { <-r.asking }()
		default:
			if r.failed != nil {
				r.failed(errBusy)
			}
			return nil, errBusy
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxQuestion)
		defer cancel()
		return ask(asking)
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var none V
	select {
	case answer := <-answers:
		value, _ := answer.Val.(V)
		return value, answer.Err
	case <-timer.C:
		return none, &lateError{wait}
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// learn asks, and keeps what comes of it.
func (r *recent[K, V]) learn(ctx context.Context, key K, ask func(context.Context) (V, error)) (V, error) {
	value, err := unbroken(ctx, ask)
	if err != nil && r.failed != nil && !r.absent(err) {
		r.failed(err)
	}
	r.note(key, value, err)
	return value, err
}

// unbroken makes an error of a panic: it is not in the goroutine of a request, and
// would end the program.
func unbroken[V any](ctx context.Context, ask func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the program broke: %v", broken)
		}
	}()
	return ask(ctx)
}

// note keeps an answer, or that there was none.
func (r *recent[K, V]) note(key K, value V, err error) {
	now := r.now()
	known, _ := r.kept.get(key)
	switch {
	case err == nil:
		known = learned[V]{answered: true, value: value, at: now}
	case r.absent(err):
		known = learned[V]{answered: true, absent: err, at: now}
	case known.absent != nil:
		known = learned[V]{failed: err, tried: now}
	default:
		known.failed, known.tried = err, now
	}
	r.kept.put(key, known, r.weigh(known.value))
}
