package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// earned is how many bytes have to arrive for the tries to begin anew: a long
// transfer over a bad network meets more breaks than a short one, and a server
// that gives a byte at a time must not hold us for ever.
const retryBudgetBytes = 8 << 20

// ResumedBody reads a content up to its end, and goes on where an answer broke off, in
// [httpclient.MaxTries] tries in all, and as many again after every 8 MiB. What
// comes beyond the end is given out, for the caller to notice.
type ResumedBody struct {
	// At is where the next byte is from, and End the content's size, or where
	// the part ends that is read.
	At, End int64
	// Current is the answer that is read; nil is one to be asked for.
	Current io.ReadCloser
	// Open asks for the bytes from at, once; it is nil where that is not
	// possible, and the first break is the last.
	Open func(at int64) (io.ReadCloser, error)
	// Pause waits after a number of failures.
	Pause func(failed int, cause error) error

	failed int
	gained int64
	err    error // what every further Read returns
}

// NotResumedError says that an answer broke off, and why it did not go on.
type NotResumedError struct {
	// At is how many bytes had come.
	At int64
	// Cause is how the answer broke off, and Reason why there is no other.
	Cause, Reason error
}

func (e *NotResumedError) Error() string {
	return fmt.Sprintf("%v; going on at byte %d: %v", e.Cause, e.At, e.Reason)
}

// Unwrap returns the cause alone: it decides whether to begin anew.
func (e *NotResumedError) Unwrap() error { return e.Cause }

// Read implements [io.Reader].
func (b *ResumedBody) Read(p []byte) (n int, err error) {
	if b.err == nil {
		n, b.err = b.read(p)
	}
	return n, b.err
}

func (b *ResumedBody) read(p []byte) (int, error) {
	if b.Current == nil {
		if err := b.open(); err != nil {
			return 0, err
		}
	}
	for {
		n, err := b.Current.Read(p)
		b.At += int64(n)
		if b.gained += int64(n); b.gained >= retryBudgetBytes {
			b.failed, b.gained = 0, 0
		}
		if err == io.EOF && b.At < b.End {
			err = io.ErrUnexpectedEOF
		}
		if err == nil || err == io.EOF {
			return n, err
		}
		if err := b.resume(err); err != nil {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// Close closes the answer that is read.
func (b *ResumedBody) Close() error {
	if b.Current == nil {
		return nil
	}
	return b.Current.Close()
}

// begin asks for the first answer.
func (b *ResumedBody) open() error {
	body, err := b.Open(b.At)
	if err != nil {
		body, err = b.retry(err)
	}
	if err != nil {
		return err
	}
	b.Current = body
	return nil
}

// resume puts another answer in the place of one that broke off.
func (b *ResumedBody) resume(cause error) error {
	if b.Open == nil {
		return cause
	}
	body, err := b.retry(cause)
	switch {
	case err == nil:
	case errors.Is(err, cause): // there was no further try
		return cause
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the caller's own end
	default:
		return &NotResumedError{At: b.At, Cause: cause, Reason: err}
	}
	_ = b.Current.Close()
	b.Current = body
	return nil
}

// again asks for as long as there are tries, and gives the last failure.
func (b *ResumedBody) retry(failure error) (io.ReadCloser, error) {
	for httpclient.IsTransient(failure) {
		if b.failed++; b.failed >= httpclient.MaxTries {
			return nil, failure
		}
		if err := b.Pause(b.failed, failure); err != nil {
			return nil, err
		}
		body, err := b.Open(b.At)
		if err == nil {
			return body, nil
		}
		failure = err
	}
	return nil, failure
}
