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

// MaxTries is how often a transfer is begun. Each request in it has tries of
// its own; these are for transfers that break in the middle.
const MaxTries = 3

// Retrier repeats transfers. The zero value pauses as the HTTP client does and
// reports nothing.
type Retrier struct {
	// Backoff is the pause after the given number of failures; nil doubles.
	Backoff  func(failed int) time.Duration
	Progress provider.Progress
	// Slot is what the transfer has already. The last of several tries has all
	// slots: there are hosts and networks that don't bear many transfers at once.
	// Nil is a transfer without one.
	Slot *Slot
}

// Do repeats do, which has to open its content anew, while it fails in a way
// that may pass. A connection that fails for the last time is an
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

// exhausted says how often a connection failed. Answers speak for themselves.
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

// ExpiredError is a refusal after bytes had moved: the token expired during the
// transfer. The next try asks for a new one, once.
type ExpiredError struct{ Err error }

func (e *ExpiredError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *ExpiredError) Unwrap() error { return e.Err }

// Recorder keeps what its reader said: an error of the source, which the push
// that reads from it may hide behind its own. It may be asked while it is read
// from: an HTTP request that ends early leaves its body to a goroutine.
type Recorder struct {
	r io.Reader

	mu  sync.Mutex
	n   int64
	err error
}

// NewRecorder reads from r.
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

// N counts the bytes read.
func (r *Recorder) N() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Err is the first error that was not io.EOF.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// MarkExpired makes of a refusal an *[ExpiredError], so that a new token is tried;
// other errors stay as they are.
func MarkExpired(err error) error {
	if errors.Is(err, provider.ErrDenied) {
		return &ExpiredError{Err: err}
	}
	return err
}
