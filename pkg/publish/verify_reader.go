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
	// shut is the reason why the last byte is withheld.
	shut error

	held  [1]byte // the newest byte, once full
	full  bool
	ended bool
}

// Read is one byte behind its source.
func (g *verifyingReader) Read(p []byte) (int, error) {
	switch shut := g.verdict(); {
	case shut != nil:
		return 0, shut
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
	if shut := g.judge(); shut != nil {
		clear(p[:k])
		return 0, shut
	}
	g.ended = true
	return k, nil
}

func (g *verifyingReader) judge() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = g.open()
	return g.shut
}

// verdict returns the reason why the last byte is withheld, or nil as long as it is unknown. After
// verdict returns, the effects of open are visible.
func (g *verifyingReader) verdict() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// nonEOF returns nil for io.EOF: the next Read encounters the end of the source again.
func nonEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
