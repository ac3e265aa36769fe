package transfer

import (
	"io"
	"sync"
)

const (
	// bufferSize is large enough that passing a buffer costs little compared with
	// hashing or decompressing it.
	bufferSize = 256 << 10
	// buffers is the number of buffers between the writer and the reader. It is large
	// enough to bridge short pauses on either side.
	buffers = 4
)

// Pipe passes bytes from a writing goroutine to a reading goroutine. It buffers at most
// 1 MiB. If the buffers are full, writes block. Small writes are combined: the reader
// receives them when a buffer is full or the writer has finished.
type Pipe struct {
	free, full chan []byte
	// gone is closed when the reader stops reading.
	gone     chan struct{}
	goneOnce sync.Once

	// write guards the writer's side, because an HTTP client can briefly continue to
	// read a request body after it has returned.
	write   sync.Mutex
	filling []byte
	done    bool
	err     error // error for the reader after the last byte, set before full is closed

	current, rest []byte
}

// NewPipe returns a pipe. Buffers are allocated on demand.
func NewPipe() *Pipe {
	p := &Pipe{
		free: make(chan []byte, buffers),
		full: make(chan []byte, buffers),
		gone: make(chan struct{}),
	}
	for range buffers {
		p.free <- nil
	}
	return p
}

// Write writes bytes. It returns [io.ErrClosedPipe] if the reader or the writer has
// closed the pipe.
func (p *Pipe) Write(b []byte) (int, error) {
	p.write.Lock()
	defer p.write.Unlock()
	written := 0
	for written < len(b) {
		room, err := p.room()
		if err != nil {
			return written, err
		}
		n := copy(room, b[written:])
		written += n
		p.filled(n)
	}
	return written, nil
}

// ReadFrom implements [io.ReaderFrom]. It reads directly into the pipe's buffers. At
// the end of the source, it returns nil.
func (p *Pipe) ReadFrom(r io.Reader) (int64, error) {
	p.write.Lock()
	defer p.write.Unlock()
	var total int64
	for {
		room, err := p.room()
		if err != nil {
			return total, err
		}
		n, err := r.Read(room)
		total += int64(n)
		p.filled(n)
		switch {
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

// room returns the free part of the current buffer.
func (p *Pipe) room() ([]byte, error) {
	select {
	case <-p.gone:
		return nil, io.ErrClosedPipe
	default:
	}
	if p.done {
		return nil, io.ErrClosedPipe
	}
	if p.filling == nil {
		select {
		case <-p.gone:
			return nil, io.ErrClosedPipe
		case buffer := <-p.free:
			if buffer == nil {
				buffer = make([]byte, bufferSize)
			}
			p.filling = buffer[:0]
		}
	}
	return p.filling[len(p.filling):cap(p.filling)], nil
}

// filled passes on a full buffer. The channel has space for every buffer.
func (p *Pipe) filled(n int) {
	p.filling = p.filling[:len(p.filling)+n]
	if len(p.filling) == cap(p.filling) {
		p.full <- p.filling
		p.filling = nil
	}
}

// CloseWrite ends the stream. The reader receives the remaining bytes, followed by err
// or, if err is nil, by [io.EOF]. Only the first call has an effect.
func (p *Pipe) CloseWrite(err error) {
	p.write.Lock()
	defer p.write.Unlock()
	if p.done {
		return
	}
	p.done, p.err = true, err
	if len(p.filling) > 0 {
		p.full <- p.filling
	}
	p.filling = nil
	close(p.full)
}

// Read implements [io.Reader]. All calls must come from the same goroutine.
func (p *Pipe) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(p.rest) == 0 {
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo] without copying the buffers. It returns nil at the
// end of the stream.
func (p *Pipe) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		if len(p.rest) == 0 {
			if err := p.next(); err != nil {
				if err == io.EOF {
					err = nil
				}
				return total, err
			}
		}
		n, err := w.Write(p.rest)
		total += int64(n)
		p.rest = p.rest[n:]
		if err != nil {
			return total, err
		}
	}
}

// next returns the current buffer to the writer and waits for the next buffer.
func (p *Pipe) next() error {
	if p.current != nil {
		p.free <- p.current
		p.current = nil
	}
	select {
	case <-p.gone:
		return io.ErrClosedPipe
	case buffer, ok := <-p.full:
		switch {
		case ok:
			p.current, p.rest = buffer, buffer
			return nil
		case p.err != nil:
			return p.err
		}
		return io.EOF
	}
}

// CloseRead stops reading. Blocked writes and later reads return [io.ErrClosedPipe].
// CloseRead can be called from any goroutine and more than once.
func (p *Pipe) CloseRead() {
	p.goneOnce.Do(func() { close(p.gone) })
}
