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

// Moving is a package's content on its way from a source to a sink.
type Transfer struct {
	*Recorder
	to provider.Progress
	p  provider.Package
}

// Begin reports that the transfer of a package begins. [Transfer.End] reports its end.
func Start(to provider.Progress, p provider.Package, total int64, content io.Reader) *Transfer {
	if to.Begin != nil {
		to.Begin(p, total)
	}
	return &Transfer{NewRecorder(content), to, p}
}

// Read reports how much is read.
func (c *Transfer) Read(p []byte) (int, error) {
	n, err := c.Recorder.Read(p)
	if c.to.Advance != nil {
		c.to.Advance(c.p, n)
	}
	return n, err
}

// End reports the end of a transfer in which writing the content ended with err, and
// returns what really went wrong: the library that pushes wraps what the source said, or
// hides it, and a refusal in mid-way is a token that expired.
func (c *Transfer) End(err error) error {
	if failed := c.Err(); failed != nil {
		err = failed
	} else if c.N() > 0 {
		err = MarkExpired(err)
	}
	if c.to.End != nil {
		c.to.End(c.p, err)
	}
	return err
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
			w.to.End(w.p, errAborted)
		}
	})
	return w.body.Close()
}

// errStopped: nobody wanted the rest.
var errAborted = errors.New("the transfer was ended before its end")
