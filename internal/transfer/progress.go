// Package transfer moves large contents. It reports progress ([Report], [Watch]), repeats
// transfers ([Retrier]), reads contents by HTTP ranges, in several pieces at once
// ([RangeReader]) or from where a response was interrupted ([ResumedBody]), and runs both
// sides of a copy concurrently ([Copy], [Pipe]).
package transfer

import (
	"errors"
	"io"
	"sync"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Report calls do with a function that counts what is read through it, and
// reports begin, bytes and end of the package's transfer.
func Report(to provider.Progress, p provider.Package, total int64, do func(count func(io.Reader) io.Reader) error) error {
	if to.Begin != nil {
		to.Begin(p, total)
	}
	err := do(func(r io.Reader) io.Reader {
		if to.Advance == nil {
			return r
		}
		return &counter{r, func(n int) { to.Advance(p, n) }}
	})
	if to.End != nil {
		to.End(p, err)
	}
	return err
}

type counter struct {
	r       io.Reader
	advance func(n int)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.advance(n)
	return n, err
}

// Watch reports the transfer of a body: it begins now, and ends when the body is
// closed.
func Watch(to provider.Progress, p provider.Package, total int64, body io.ReadCloser) io.ReadCloser {
	if to.Begin != nil {
		to.Begin(p, total)
	}
	return &watched{body: body, to: to, p: p}
}

type watched struct {
	body io.ReadCloser
	to   provider.Progress
	p    provider.Package
	// err is what reading ended in.
	err   error
	ended sync.Once
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.body.Read(b)
	if w.to.Advance != nil {
		w.to.Advance(w.p, n)
	}
	if err != nil {
		w.err = err
	}
	return n, err
}

func (w *watched) Close() error {
	w.ended.Do(func() {
		switch {
		case w.to.End == nil:
		case errors.Is(w.err, io.EOF):
			w.to.End(w.p, nil)
		case w.err != nil:
			w.to.End(w.p, w.err)
		default:
			w.to.End(w.p, errStopped)
		}
	})
	return w.body.Close()
}

// errStopped: nobody wanted the rest.
var errStopped = errors.New("the transfer was ended before its end")
