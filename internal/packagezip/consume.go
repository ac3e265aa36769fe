package packagezip

import (
	"context"
	"io"
)

const (
	// chunkSize is large enough to make the overhead per chunk negligible.
	chunkSize = 256 << 10
	// chunks is the number of chunks that are buffered between decompression and the
	// sink.
	chunks = 4
)

// sink receives an archive's contents, entry by entry. All methods except finish are
// called from a separate goroutine.
type sink interface {
	begin(name string) error
	write(p []byte) error
	end(name string) error
	// finish is called after the archive has been verified.
	finish(ctx context.Context, entries []entry) error
	contents() Contents
}

// consume runs walk, which decompresses an archive, concurrently with the sink.
func consume(ctx context.Context, to sink, walk func(visitor) ([]entry, error)) (Contents, error) {
	b := newPipeline(to)
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

// chunk is a part of an entry's content.
type chunk struct {
	name        string
	data        []byte
	first, last bool
}

// pipeline transfers chunks to a sink.
type pipeline struct {
	free chan []byte
	full chan chunk
	// ended is closed when the sink has stopped. Then err contains the sink's error.
	ended chan struct{}
	err   error
}

func newPipeline(to sink) *pipeline {
	b := &pipeline{free: make(chan []byte, chunks), full: make(chan chunk, chunks), ended: make(chan struct{})}
	for range chunks {
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

func deliver(to sink, p chunk) error {
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

// visit is a [visitor]. It returns read errors and sink errors. The cause of a sink
// error can be an earlier chunk.
func (b *pipeline) visit(name string, content io.Reader) error {
	for first := true; ; first = false {
		buffer, err := b.freeBuffer()
		if err != nil {
			return err
		}
		n, err := fill(content, buffer)
		if err != nil && err != io.EOF {
			return err
		}
		// The channel has space for every buffer, so the send never blocks.
		b.full <- chunk{name: name, data: buffer[:n], first: first, last: err == io.EOF}
		if err == io.EOF {
			return nil
		}
	}
}

// freeBuffer waits for a free buffer.
func (b *pipeline) freeBuffer() ([]byte, error) {
	select {
	case <-b.ended:
		return nil, b.err
	case buffer := <-b.free:
		if buffer == nil {
			return make([]byte, chunkSize), nil
		}
		return buffer[:cap(buffer)], nil
	}
}

// close waits until the sink has processed all chunks.
func (b *pipeline) close() error {
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
