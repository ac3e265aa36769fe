package transfer

import (
	"context"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// RangeSource provides content in ranges.
type RangeSource struct {
	Size int64
	// Open makes a single request for a range. It returns [ErrRangeMismatch] or an
	// error from the client. For an unexpected status, the error is a
	// *[provider.StatusError].
	Open func(ctx context.Context, r Range) (io.ReadCloser, error)
	// Whole requests the complete content in one stream.
	Whole func(ctx context.Context) (io.ReadCloser, error)
	// Pause waits after the given number of failures.
	Pause func(ctx context.Context, failed int, cause error) error
	// OnRefused is called if the server does not support ranges, returned wrong
	// content, or limits connections. If the server limits connections, which is
	// temporary, the error is [ErrLimited]. The next content from the server should be
	// read in one stream.
	OnRefused func(why error)
}

// openPart reads a part with a separate count of attempts.
func (c RangeSource) openPart(ctx context.Context, part Range, judge func(error) error) *ResumedBody {
	return &ResumedBody{At: part.From, End: part.End, Open: c.opener(ctx, part, judge), Pause: c.pauser(ctx)}
}

func (c RangeSource) opener(ctx context.Context, part Range, judge func(error) error) func(int64) (io.ReadCloser, error) {
	return func(at int64) (io.ReadCloser, error) {
		body, err := c.Open(ctx, Range{From: at, End: part.End, Size: part.Size})
		if err != nil && judge != nil {
			err = judge(err)
		}
		return body, err
	}
}

func (c RangeSource) pauser(ctx context.Context) func(int, error) error {
	return func(failed int, cause error) error { return c.Pause(ctx, failed, cause) }
}

// asLimit returns [ErrLimited] if an error means that the server limits requests, so
// that the next attempt uses a single stream. It returns any other error unchanged.
func asLimit(err error) error {
	if httpclient.IsLimit(err) {
		return ErrLimited
	}
	return err
}
