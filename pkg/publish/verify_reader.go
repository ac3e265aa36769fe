package publish

import (
	"io"
	"sync"
)

// verifyingReader forwards content, but withholds the last byte until the content is verified, so that invalid
// content never becomes complete at the target. Its verdict can be read concurrently: when an HTTP
// request is canceled, another goroutine can still read its body.
type verifyingReader struct {
	src io.Reader
	// open verifies the content after all of it was read.
	open func() error

	mu sync.Mutex
	// failure is the reason why the last byte is withheld.
	failure error

	held  [1]byte // the newest byte, once full
	full  bool
	ended bool
}

// Read is one byte behind its source.
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

// verdict returns the reason why the last byte is withheld, or nil as long as it is unknown. After
// verdict returns, the effects of open are visible.
func (g *verifyingReader) verdict() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// nonEOF returns nil for io.EOF: the next Read encounters the end of the source again.
func nonEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
