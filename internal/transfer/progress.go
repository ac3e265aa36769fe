// Package transfer transfers large content. It reports progress ([Start], [Watch]) and
// repeats transfers ([Retrier]). It uses HTTP ranges to read content in several
// parallel parts ([RangeReader]) or from the offset at which a response was interrupted
// ([ResumedBody]). It also runs both sides of a copy concurrently ([Copy], [Pipe]).
package transfer

import (
	"errors"
	"io"
	"sync"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Transfer is a package's content in transit from a source to a sink.
type Transfer struct {
	*Recorder
	to provider.Progress
	p  provider.Package
}

// Start reports the start of a transfer. [Transfer.End] reports its end.
func Start(to provider.Progress, p provider.Package, total int64, content io.Reader) *Transfer {
	if to.Begin != nil {
		to.Begin(p, total)
	}
	return &Transfer{NewRecorder(content), to, p}
}

// Read reads content and reports the number of bytes.
func (c *Transfer) Read(p []byte) (int, error) {
	n, err := c.Recorder.Read(p)
	if c.to.Advance != nil {
		c.to.Advance(c.p, n)
	}
	return n, err
}

// End reports the end of a transfer. err is the result of the write. End returns the
// error that caused err, because a library that pushes content can wrap or hide errors
// from the source. A rejection in the middle of a transfer means that the token has
// expired.
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

// Watch reports the transfer of a body, from now until the body is closed.
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
	// err is the read error.
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

// errAborted means that the body was closed before its end.
var errAborted = errors.New("transfer aborted")
