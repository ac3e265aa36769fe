package transfer

import (
	"io"
	"sync"
)

const (
	// bufferSize is large enough that handing a buffer over costs nothing beside
	// hashing or inflating it.
	bufferSize = 256 << 10
	// buffers is how many of them are between the two sides: enough that neither
	// waits for a short pause of the other.
	buffers = 4
)

// Pipe carries bytes from a writing goroutine to a reading one, with at most
// 1 MiB between them: the writer waits when it is that far ahead. Small writes
// are collected, so that the reader sees them when a buffer is full or the
// writer is done.
type Pipe struct {
	free, full chan []byte
	// gone is closed by the reader when it wants no more.
	gone     chan struct{}
	goneOnce sync.Once

	// write guards the writer's side: a body that an HTTP client was given may be
	// read by it for a moment after the client has returned.
	write   sync.Mutex
	filling []byte
	done    bool
	err     error // what the reader gets after the last byte, set before full is closed

	current, rest []byte
}

// NewPipe makes a pipe. Its buffers are made when they are first needed.
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

// Write hands bytes over. The error is [io.ErrClosedPipe] when the reader has
// gone, or when the writer itself has said that it was done.
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

// ReadFrom implements [io.ReaderFrom]: what is read lands in the pipe's buffers
// without another copy. It ends without an error when the source ends.
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

// room returns the free part of the buffer that is being filled.
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

// filled hands the buffer over once it is full. There is always room for it in
// the channel, which has a place for every buffer.
func (p *Pipe) filled(n int) {
	p.filling = p.filling[:len(p.filling)+n]
	if len(p.filling) == cap(p.filling) {
		p.full <- p.filling
		p.filling = nil
	}
}

// CloseWrite says that no more bytes come. The reader gets those that were
// written and then err, or [io.EOF] when that is nil. Only the first call counts.
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

// Read implements [io.Reader]. It is for one goroutine.
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

// WriteTo implements [io.WriterTo]: what was written into the pipe goes on
// without another copy. It ends without an error when the writer is done.
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

// next hands back the buffer that was read and waits for another.
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

// CloseRead says that nothing more will be read: a writer that waits goes on
// with [io.ErrClosedPipe], and so does a reader. It may be called by any
// goroutine and more than once.
func (p *Pipe) CloseRead() {
	p.goneOnce.Do(func() { close(p.gone) })
}
