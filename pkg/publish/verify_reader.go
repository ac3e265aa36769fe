package publish

import (
	"io"
	"sync"
)

// verifyingReader forwards content, but withholds the last byte until the content is
// verified. Therefore, the target never receives complete but invalid content. The
// verdict can be read concurrently, because another goroutine can still read the body
// of an HTTP request after the request is canceled.
type verifyingReader struct {
	src io.Reader
	// open verifies the content after all of it has been read.
	open func() error

	mu sync.Mutex
	// failure is the error that causes the reader to withhold the last byte.
	failure error

	held  [1]byte // the newest byte, after the first read
	full  bool
	ended bool
}

// Read returns content one byte later than its source.
func (g *verifyingReader) Read(p []byte) (int, error) {
	switch failure := g.verdict(); {
	case failure != nil:
		return 0, failure
	case g.ended:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	k := 0
	if g.full {
		k = copy(p, g.held[:])
	}
	var spare [1]byte
	room := p[k:]
	if len(room) == 0 {
		room = spare[:]
	}
	n, err := g.src.Read(room)
	if n > 0 {
		g.held[0], g.full = room[n-1], true
		return k + n - 1, nonEOF(err)
	}
	if err != io.EOF {
		return 0, err
	}
	if failure := g.verify(); failure != nil {
		clear(p[:k])
		return 0, failure
	}
	g.ended = true
	return k, nil
}

func (g *verifyingReader) verify() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failure = g.open()
	return g.failure
}

// verdict returns the error that causes the reader to withhold the last byte, or nil if
// the error is not known yet. After verdict returns, the effects of open are visible.
func (g *verifyingReader) verdict() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// nonEOF returns err, or nil for io.EOF, because the next Read reaches the end of the
// source again.
func nonEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
