package packagezip

import (
	"context"
	"io"
)

const (
	// pieceSize is large enough to make the overhead per piece negligible.
	pieceSize = 256 << 10
	// pieces is the number of pieces between decompression and the sink.
	pieces = 4
)

// sink receives the contents of an archive, entry by entry. All methods except finish
// are called from a separate goroutine.
type sink interface {
	begin(name string) error
	write(p []byte) error
	end(name string) error
	// finish is called after the archive was verified.
	finish(ctx context.Context, entries []entry) error
	contents() Contents
}

// consume runs walk, which decompresses an archive, concurrently with the sink.
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

// belt is a pipeline that transfers pieces to a sink.
type belt struct {
	free chan []byte
	full chan piece
	// ended is closed when the sink is no longer called. Then err is the error of the
	// sink.
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

// visit is a [visitor]. It returns errors of reading the content, and errors of the
// sink, possibly for an earlier piece.
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
		// The channel has space for each buffer, so this never blocks.
		b.full <- piece{name: name, data: buffer[:n], first: first, last: err == io.EOF}
		if err == io.EOF {
			return nil
		}
	}
}

// room waits for a free buffer.
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

// close waits until the sink has processed all pieces.
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
