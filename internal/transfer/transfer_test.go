package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var plan9 = provider.Package{Filename: "thing.zip", Platform: provider.Platform{OS: "plan9", Arch: "mips64"}}

func TestDo(t *testing.T) {
	t.Parallel()
	passes := fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)
	expired := &transfer.ExpiredError{Err: fmt.Errorf("pushing: %w", provider.ErrForbidden)}
	wrong := errors.New("wrong bytes")
	for name, test := range map[string]struct {
		errs  []error // one error per attempt; the last error is repeated
		tries int
		want  error
	}{
		"at once":                   {[]error{nil}, 1, nil},
		"wrong":                     {[]error{wrong}, 1, wrong},
		"passes":                    {[]error{passes, passes, nil}, 3, nil},
		"does not pass":             {[]error{passes}, 3, passes},
		"passes, then wrong":        {[]error{passes, wrong}, 2, wrong},
		"expired once":              {[]error{expired, nil}, 2, nil},
		"expired twice":             {[]error{expired}, 2, expired},
		"expired at the last":       {[]error{passes, passes, expired}, 3, expired},
		"expired among others":      {[]error{passes, expired, nil}, 3, nil},
		"repeated in vain":          {[]error{&provider.TransientError{Tries: 3, Err: io.EOF}}, 1, io.EOF},
		"Retry-After is too long":   {[]error{&provider.StatusError{Status: 429, RetryAfter: time.Hour}}, 1, nil},
		"the caller's own deadline": {[]error{context.DeadlineExceeded}, 1, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reported []error
			var waits []int
			r := transfer.Retrier{
				Backoff: func(failed int) time.Duration { waits = append(waits, failed); return 0 },
				Progress: provider.Progress{Retry: func(what string, err error) {
					if what != "moving" {
						t.Error(what)
					}
					reported = append(reported, err)
				}},
			}
			tries := 0
			err := r.Do(t.Context(), "moving", func() error {
				tries++
				return test.errs[min(tries, len(test.errs))-1]
			})
			last := test.errs[min(tries, len(test.errs))-1]
			if tries != test.tries || !errors.Is(err, last) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%d tries, %v", tries, err)
			}
			if _, counted := errors.AsType[*provider.TransientError](err); counted != (test.want == passes || name == "repeated in vain") { //nolint:errorlint // the error has the same value
				t.Errorf("got %v", err)
			}
			if len(reported) != tries-1 || slices.Contains(reported, nil) {
				t.Errorf("got retries %v, want %d", reported, tries-1)
			}
			if want := []int{1, 2}[:tries-1]; !slices.Equal(waits, want) {
				t.Errorf("waited after %v", waits)
			}
		})
	}
}

func TestDoIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	r := transfer.Retrier{Backoff: func(int) time.Duration { return time.Hour }}
	err := r.Do(ctx, "moving", func() error {
		cancel(interrupted)
		return io.ErrUnexpectedEOF
	})
	if !errors.Is(err, interrupted) {
		t.Error(err)
	}
}

// TestDoRespectsRetryAfter checks that Retry-After applies if it is longer than the
// Retrier's pause.
func TestDoRespectsRetryAfter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := transfer.Retrier{
		Backoff:  func(int) time.Duration { return 0 },
		Progress: provider.Progress{Retry: func(string, error) { cancel() }},
	}
	tries := 0
	err := r.Do(ctx, "moving", func() error {
		tries++
		return &provider.StatusError{Status: 429, RetryAfter: time.Minute}
	})
	if !errors.Is(err, context.Canceled) || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestMoving(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, want := range map[string]error{"well": nil, "badly": broken} {
		var events []string
		moved := 0
		content := transfer.Start(provider.Progress{
			Begin: func(p provider.Package, total int64) {
				events = append(events, fmt.Sprint("begin ", p.Filename, total))
			},
			Advance: func(_ provider.Package, n int) { moved += n },
			End:     func(p provider.Package, err error) { events = append(events, fmt.Sprint("end ", p.Filename, err)) },
		}, plan9, 7, iotest.OneByteReader(strings.NewReader("content")))
		_, err := io.ReadAll(content)
		err = content.End(errors.Join(err, want))
		if !errors.Is(err, want) || moved != 7 || len(events) != 2 || events[0] != "begin thing.zip7" || !strings.HasPrefix(events[1], "end thing.zip") {
			t.Errorf("%s: %v, %d bytes, %v", name, events, moved, err)
		}
	}
	// Progress is optional.
	content := transfer.Start(provider.Progress{}, plan9, -1, strings.NewReader("content"))
	got, err := io.ReadAll(content)
	if string(got) != "content" || content.End(err) != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		r    io.Reader
		n    int64
		want error
	}{
		"whole":  {strings.NewReader("content"), 7, nil},
		"broken": {io.MultiReader(strings.NewReader("cont"), iotest.ErrReader(broken)), 4, broken},
		"early":  {io.MultiReader(strings.NewReader("cont"), iotest.ErrReader(io.ErrUnexpectedEOF)), 4, io.ErrUnexpectedEOF},
	} {
		r := transfer.NewRecorder(test.r)
		_, _ = io.Copy(io.Discard, r)
		if r.N() != test.n || !errors.Is(r.Err(), test.want) || (r.Err() == nil) != (test.want == nil) {
			t.Errorf("%s: %d bytes, %v", name, r.N(), r.Err())
		}
	}
}
