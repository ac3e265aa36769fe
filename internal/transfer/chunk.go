package transfer

import (
	"io"
	"sync"
)

// piece is a part of a content that arrives in memory before it is its turn. It
// may be read while it arrives.
type chunk struct {
	pool   *poolHandle
	blocks [][]byte
	size   int

	mu      sync.Mutex
	arrived sync.Cond
	filled  int
	err     error // how filling ended; io.EOF when all is there

	read int
}

// newPiece is about to hold size bytes in blocks.
func newChunk(s *poolHandle, blocks [][]byte, size int) *chunk {
	p := &chunk{pool: s, blocks: blocks, size: size}
	p.arrived.L = &p.mu
	return p
}

// fill reads the piece from its body, and has ended when that is closed. The body
// ends with a context, and filling with it.
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

// Read returns what has arrived, and each block back that was read.
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

// wait tells how much there is to read, or how filling ended.
func (p *chunk) wait() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.filled == p.read && p.err == nil {
		p.arrived.Wait()
	}
	return p.filled, p.err
}

// failed reports whether filling has ended before its end.
func (p *chunk) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil && p.err != io.EOF
}

// end waits until filling has ended.
func (p *chunk) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil {
		p.arrived.Wait()
	}
}

// Close waits until filling has ended, and gives all blocks back.
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
