package publish

import (
	"io"
	"sync"
)

// gate passes content on, and its last byte only when the content is right: what
// is wrong never becomes complete at the other end. What it found may be asked for
// while it is read from: an HTTP request that ends early leaves its body to a
// goroutine.
type gate struct {
	src io.Reader
	// open judges the content when all of it has gone by.
	open func() error

	mu sync.Mutex
	// shut is why the last byte is not passed on.
	shut error

	held  [1]byte // the newest byte, once full
	full  bool
	ended bool
}

// Read is one byte behind its source.
func (g *gate) Read(p []byte) (int, error) {
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

func (g *gate) judge() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = g.open()
	return g.shut
}

// verdict is why the last byte is not passed on, nil as long as nothing is known.
// What open has done is seen by whoever asked.
func (g *gate) verdict() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// nonEOF leaves the end of the source for the next Read, which asks again.
func nonEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
