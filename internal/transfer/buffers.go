package transfer

import "sync"

const (
	// blockSize is the size in bytes of a block, the unit in which readers get memory.
	blockSize = 1 << 20
	// maxBlocks limits the total memory of all readers to 32 MiB.
	maxBlocks = 32
	// minChunk and maxChunk limit the number of blocks in a chunk. Object stores are
	// fastest with 8 MiB per request. Below 2 MiB, the latency of requests dominates.
	minChunk, maxChunk = 2, 8
)

// BufferPool is the memory that all readers of ranges share. It is at most 32 MiB. The
// zero value is ready to use. A BufferPool is safe for concurrent use.
type BufferPool struct {
	mu      sync.Mutex
	readers int
	used    int
	free    [][]byte
}

// Used returns the number of bytes in use.
func (w *BufferPool) Used() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.used * blockSize
}

// poolHandle is a reader's share of the pool.
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

// close removes the reader from the pool. The reader must have released all its blocks.
func (s *poolHandle) close() {
	w := s.pool
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers--; w.readers == 0 {
		w.free = nil // without readers, free the memory
	}
}

// chunkSize returns the size of a chunk in bytes. The memory is divided among the
// current readers and their connections.
func (s *poolHandle) chunkSize() int64 {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return int64(s.blocksPerChunk()) * blockSize
}

func (s *poolHandle) blocksPerChunk() int {
	return min(max(maxBlocks/s.pool.readers/(Connections-1), minChunk), maxChunk)
}

// acquire returns the blocks for the next chunk of at most rest bytes. If the reader
// has used its share, or if other readers have not yet released their blocks, acquire
// returns no blocks.
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

// release returns a block to the pool.
func (s *poolHandle) release(block []byte) {
	w := s.pool
	w.mu.Lock()
	defer w.mu.Unlock()
	s.blocks--
	w.used--
	w.free = append(w.free, block)
}
