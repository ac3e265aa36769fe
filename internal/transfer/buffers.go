package transfer

import "sync"

const (
	// blockSize is what windows are made of, and given back in.
	blockSize = 1 << 20
	// maxBlocks bounds the memory of all windows together: 32 MiB.
	maxBlocks = 32
	// minPiece and maxPiece are how many blocks a piece has. Object stores
	// answer 8 MiB best; below 2 MiB most of the time is spent with asking.
	minChunk, maxChunk = 2, 8
)

// BufferPool is the memory that readers of ranges share, 32 MiB at most. The zero
// value is ready for use, by many goroutines.
type BufferPool struct {
	mu      sync.Mutex
	readers int
	used    int
	free    [][]byte
}

// Used tells how many bytes are handed out.
func (w *BufferPool) Used() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used * blockSize
}

// share is what one reader has of the windows.
type poolHandle struct {
	pool   *BufferPool
	blocks int
}

func (w *BufferPool) newHandle() *poolHandle {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers++
	return &poolHandle{pool: w}
}

// leave ends a reader, which has given all back.
func (s *poolHandle) close() {
	w := s.pool
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers--; w.readers == 0 {
		w.free = nil // nobody reads: the memory is for others
	}
}

// piece is how many bytes a piece should have: the memory is shared by the
// readers that there are, and by the connections of each.
func (s *poolHandle) chunkSize() int64 {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return int64(s.blocksPerChunk()) * blockSize
}

func (s *poolHandle) blocksPerChunk() int {
	return min(max(maxBlocks/s.pool.readers/(Connections-1), minChunk), maxChunk)
}

// take returns the blocks of the next piece, which has at most rest bytes, or none
// when the reader has its part, or others have not yet given back theirs.
func (s *poolHandle) acquire(rest int64) [][]byte {
	w := s.pool
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int(min(int64(s.blocksPerChunk()), (rest+blockSize-1)/blockSize))
	if s.blocks+n > maxBlocks/w.readers || w.used+n > maxBlocks {
		return nil
	}
	s.blocks += n
	w.used += n
	blocks := make([][]byte, n)
	for i := range blocks {
		if last := len(w.free) - 1; last >= 0 {
			blocks[i], w.free = w.free[last], w.free[:last]
		} else {
			blocks[i] = make([]byte, blockSize)
		}
	}
	return blocks
}

// give takes a block back.
func (s *poolHandle) release(block []byte) {
	w := s.pool
	w.mu.Lock()
	defer w.mu.Unlock()
	s.blocks--
	w.used--
	w.free = append(w.free, block)
}
