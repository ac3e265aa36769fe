package transfer

import (
	"io"
	"sync"
)

// chunk is a part of the content that is received into memory ahead of time. It can be
// read before it is complete.
type chunk struct {
	pool   *poolHandle
	blocks [][]byte
	size   int

	mu      sync.Mutex
	arrived sync.Cond
	filled  int
	err     error // error at the end; io.EOF if complete

	read int
}

// newChunk returns an empty chunk that can store size bytes in blocks.
func newChunk(s *poolHandle, blocks [][]byte, size int) *chunk {
	p := &chunk{pool: s, blocks: blocks, size: size}
	p.arrived.L = &p.mu
	return p
}

// fill reads the chunk from its body and closes the body. When the body's context is
// canceled, fill returns.
func (p *chunk) fill(body io.ReadCloser) {
	err := p.readFrom(body)
	_ = body.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	p.arrived.Signal()
}

func (p *chunk) readFrom(body io.Reader) error {
	for at := 0; at < p.size; {
		block := p.blocks[at/blockSize][at%blockSize:]
		n, err := body.Read(block[:min(len(block), p.size-at)])
		at += n
		p.add(n)
		switch {
		case at == p.size:
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return io.EOF
}

func (p *chunk) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filled += n
	p.arrived.Signal()
}

// Read returns received bytes. It releases each block that has been read.
func (p *chunk) Read(b []byte) (int, error) {
	filled, err := p.wait()
	if p.read == filled {
		return 0, err
	}
	from := p.read % blockSize
	block := p.blocks[p.read/blockSize]
	n := copy(b, block[from:min(from+filled-p.read, blockSize)])
	p.read += n
	if p.read%blockSize == 0 {
		p.release(p.read / blockSize)
	}
	return n, nil
}

// wait waits for unread bytes. It returns the number of received bytes and the error at
// the end.
func (p *chunk) wait() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.filled == p.read && p.err == nil {
		p.arrived.Wait()
	}
	return p.filled, p.err
}

// failed reports whether the chunk is incomplete because of an error.
func (p *chunk) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil && p.err != io.EOF
}

// end waits until fill has returned.
func (p *chunk) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil {
		p.arrived.Wait()
	}
}

// Close waits until fill has returned and releases all blocks.
func (p *chunk) Close() error {
	p.end()
	p.release(len(p.blocks))
	return nil
}

func (p *chunk) release(n int) {
	for i, block := range p.blocks[:n] {
		if block != nil {
			p.blocks[i] = nil
			p.pool.release(block)
		}
	}
}
