package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// retryBudgetBytes is the number of bytes after which the number of failures is reset
// to zero. A long transfer over an unreliable network is interrupted more often than a
// short transfer. However, a server that sends one byte at a time must not cause
// endless retries.
const retryBudgetBytes = 8 << 20

// ResumedBody reads content to its end and resumes interrupted responses. It makes at
// most [httpclient.MaxTries] attempts for every 8 MiB. It also returns bytes beyond the
// end, so that the caller can detect them.
type ResumedBody struct {
	// At is the position of the next byte. End is the size of the content, or the end
	// of the part to read.
	At, End int64
	// Current is the current response body. If nil, it is requested when it is needed.
	Current io.ReadCloser
	// Open makes a single request for the bytes from offset at. If nil, interrupted
	// responses are not resumed.
	Open func(at int64) (io.ReadCloser, error)
	// Pause waits after the given number of failures.
	Pause func(failed int, cause error) error

	failed int
	gained int64
	err    error // returned by all subsequent reads
}

// NotResumedError means that an interrupted response could not be resumed.
type NotResumedError struct {
	// At is the number of bytes received.
	At int64
	// Cause is the response's error. Reason explains why the response was not resumed.
	Cause, Reason error
}

func (e *NotResumedError) Error() string {
	return fmt.Sprintf("%v; resuming at byte %d: %v", e.Cause, e.At, e.Reason)
}

// Unwrap returns only the cause, because it determines whether the transfer is retried.
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

// Close closes the current response body.
func (b *ResumedBody) Close() error {
	if b.Current == nil {
		return nil
	}
	return b.Current.Close()
}

// open requests the first response.
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

// resume replaces an interrupted response with a new response.
func (b *ResumedBody) resume(cause error) error {
	if b.Open == nil {
		return cause
	}
	body, err := b.retry(cause)
	switch {
	case err == nil:
	case errors.Is(err, cause): // no attempts were left
		return cause
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the context was canceled
	default:
		return &NotResumedError{At: b.At, Cause: cause, Reason: err}
	}
	_ = b.Current.Close()
	b.Current = body
	return nil
}

// retry repeats the request while attempts are left and returns the last error.
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
