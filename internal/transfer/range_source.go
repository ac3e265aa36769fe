package transfer

import (
	"context"
	"io"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
)

// Content is what is read in pieces.
type RangeSource struct {
	Size int64
	// Open asks once for a range; its errors are [ErrRangeMismatch], and what the
	// client says, statuses as *[provider.StatusError].
	Open func(ctx context.Context, r Range) (io.ReadCloser, error)
	// Whole asks for all of it in one stream.
	Whole func(ctx context.Context) (io.ReadCloser, error)
	// Pause waits after a number of failures.
	Pause func(ctx context.Context, failed int, cause error) error
	// Refused is told when the server turned out to know no ranges, gave wrong bytes,
	// or had enough of connections, which is [ErrLimited] and may pass: the next
	// content of it may be read better in one stream.
	OnRefused func(why error)
}

// body reads a part with tries of its own.
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

// limited makes [ErrLimited] of what says so: the try that follows is for the
// one who is alone.
func asLimit(err error) error {
	if httpclient.IsLimit(err) {
		return ErrLimited
	}
	return err
}
