package transfer

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// MaxTries is the maximum number of attempts for a transfer that is interrupted. The
// requests in each attempt have separate limits.
const MaxTries = 3

// Retrier repeats transfers. The zero value pauses like the HTTP client and reports
// nothing.
type Retrier struct {
	// Backoff returns the pause after the given number of failures. If nil, the pause
	// doubles after each failure.
	Backoff  func(failed int) time.Duration
	Progress provider.Progress
	// Slot is the transfer's slot. The last attempt runs without other transfers,
	// because some hosts and networks cannot handle concurrent transfers. If Slot is
	// nil, the transfer needs no slot.
	Slot *Slot
}

// Do calls do until do succeeds or fails permanently. Each call to do must read its
// content from the start. If the connection fails in the last attempt, Do returns a
// *[provider.TransientError].
func (r Retrier) Do(ctx context.Context, what string, do func() error) error {
	renewed := false
	for try := 1; ; try++ {
		err := do()
		again := httpclient.IsTransient(err)
		if _, expired := errors.AsType[*ExpiredError](err); expired && !renewed {
			renewed, again = true, true
		}
		if err == nil || !again {
			return err
		}
		if try == MaxTries {
			return exhausted(err)
		}
		if r.Progress.Retry != nil {
			r.Progress.Retry(what, err)
		}
		if err := bounded.Pause(ctx, r.wait(try, err)); err != nil {
			return err
		}
		if try+1 == MaxTries && r.Slot != nil {
			if err := r.Slot.makeExclusive(ctx); err != nil {
				return err
			}
		}
	}
}

// exhausted adds the number of attempts to a connection error. It returns response
// errors unchanged.
func exhausted(err error) error {
	_, isStatus := errors.AsType[*provider.StatusError](err)
	_, isOther := errors.AsType[*httpclient.RetryableError](err)
	_, isExpired := errors.AsType[*ExpiredError](err)
	if isStatus || isOther || isExpired {
		return err
	}
	return &provider.TransientError{Tries: MaxTries, Err: err}
}

func (r Retrier) wait(failed int, err error) time.Duration {
	backoff := r.Backoff
	if backoff == nil {
		backoff = httpclient.Backoff
	}
	if status, ok := errors.AsType[*provider.StatusError](err); ok {
		return max(backoff(failed), status.RetryAfter)
	}
	return backoff(failed)
}

// ExpiredError is a rejection in the middle of a transfer. It means that the token has
// expired. The next attempt requests a new token. A second rejection is not retried.
type ExpiredError struct{ Err error }

func (e *ExpiredError) Error() string { return e.Err.Error() }

// Unwrap returns the rejection.
func (e *ExpiredError) Unwrap() error { return e.Err }

// Recorder records its reader's error, because a push that reads from the Recorder can
// return a different error. Err can be called during reads, because a goroutine can
// still read the body of an HTTP request that has returned early.
type Recorder struct {
	r io.Reader

	mu  sync.Mutex
	n   int64
	err error
}

// NewRecorder returns a Recorder that reads from r.
func NewRecorder(r io.Reader) *Recorder { return &Recorder{r: r} }

func (r *Recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n += int64(n)
	if err != nil && r.err == nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// N returns the number of bytes read.
func (r *Recorder) N() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Err returns the first error other than io.EOF.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// MarkExpired converts a rejection to an *[ExpiredError], so that a new token is
// requested. It returns any other error unchanged.
func MarkExpired(err error) error {
	if errors.Is(err, provider.ErrForbidden) {
		return &ExpiredError{Err: err}
	}
	return err
}
