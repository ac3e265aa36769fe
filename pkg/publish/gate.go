package publish

import "io"

// gate passes content on, and its last byte only when the content is right: what
// is wrong never becomes complete at the other end.
type gate struct {
	src io.Reader
	// open judges the content when all of it has gone by.
	open func() error
	// shut is why the last byte is not passed on.
	shut error

	held  [1]byte // the newest byte, once full
	full  bool
	ended bool
}

// Read is one byte behind its source.
func (g *gate) Read(p []byte) (int, error) {
	switch {
	case g.shut != nil:
		return 0, g.shut
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
	if g.shut = g.open(); g.shut != nil {
		clear(p[:k])
		return 0, g.shut
	}
	g.ended = true
	return k, nil
}

// nonEOF leaves the end of the source for the next Read, which asks again.
func nonEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
