package packagezip

import (
	"context"
	"io"
)

const (
	// pieceSize is large enough that writing and hashing cost little beside
	// inflating, and that handing a piece over costs nothing.
	pieceSize = 256 << 10
	// pieces is how many are under way between inflating and the sink.
	pieces = 4
)

// sink takes the contents of an archive, one entry after the other. It is called
// from a goroutine of its own until finish is called.
type sink interface {
	begin(name string) error
	write(p []byte) error
	end(name string) error
	// finish is called when the archive has been found to be right.
	finish(ctx context.Context, entries []entry) error
	contents() Contents
}

// consume lets walk inflate an archive's contents while a sink takes them, on
// two processors where there are two.
func consume(ctx context.Context, to sink, walk func(visitor) ([]entry, error)) (Contents, error) {
	b := newBelt(to)
	entries, err := walk(b.visit)
	if problem := b.close(); err == nil {
		err = problem
	}
	if err == nil {
		err = to.finish(ctx, entries)
	}
	if err != nil {
		return Contents{}, err
	}
	return to.contents(), nil
}

// piece is a part of an entry's content.
type piece struct {
	name        string
	data        []byte
	first, last bool
}

// belt carries pieces to a sink.
type belt struct {
	free chan []byte
	full chan piece
	// ended is closed when the sink is not called any more, after which err is
	// what it returned.
	ended chan struct{}
	err   error
}

func newBelt(to sink) *belt {
	b := &belt{free: make(chan []byte, pieces), full: make(chan piece, pieces), ended: make(chan struct{})}
	for range pieces {
		b.free <- nil
	}
	go func() {
		defer close(b.ended)
		for p := range b.full {
			if b.err = deliver(to, p); b.err != nil {
				return
			}
			b.free <- p.data
		}
	}()
	return b
}

func deliver(to sink, p piece) error {
	if p.first {
		if err := to.begin(p.name); err != nil {
			return err
		}
	}
	if len(p.data) > 0 {
		if err := to.write(p.data); err != nil {
			return err
		}
	}
	if p.last {
		return to.end(p.name)
	}
	return nil
}

// visit is a [visitor]. Its error is the content's, or the sink's for a piece
// that may be an earlier one.
func (b *belt) visit(name string, content io.Reader) error {
	for first := true; ; first = false {
		buffer, err := b.room()
		if err != nil {
			return err
		}
		n, err := fill(content, buffer)
		if err != nil && err != io.EOF {
			return err
		}
		// There is a place in the channel for each buffer, so this never waits.
		b.full <- piece{name: name, data: buffer[:n], first: first, last: err == io.EOF}
		if err == io.EOF {
			return nil
		}
	}
}

// room waits for a buffer that is free.
func (b *belt) room() ([]byte, error) {
	select {
	case <-b.ended:
		return nil, b.err
	case buffer := <-b.free:
		if buffer == nil {
			return make([]byte, pieceSize), nil
		}
		return buffer[:cap(buffer)], nil
	}
}

// close waits until the sink has taken all that was sent.
func (b *belt) close() error {
	close(b.full)
	<-b.ended
	return b.err
}

// fill reads until the buffer is full or the content ends.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}
