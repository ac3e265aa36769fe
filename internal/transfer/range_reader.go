package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
)

const (
	// MinRanged is the minimum size in bytes at which parallel ranges are faster than
	// one stream.
	MinRanged = 16 << 20
	// Connections is the maximum number of concurrent connections for one content.
	Connections = 8
)

// RangeReader reads content in order while the content's parts arrive over several
// connections. If the pool has no memory for a part, the part is read directly from the
// network. Therefore, reading does not depend on other readers. All methods except
// Close must be called from one goroutine.
type RangeReader struct {
	content RangeSource
	buffers *poolHandle
	// direct and ahead start reading a part, and whole starts reading the complete
	// content. They use the reader's context.
	direct func(r Range) io.ReadCloser
	ahead  func(r Range, blocks [][]byte) *chunk
	whole  func() (io.ReadCloser, error)
	// abandon cancels the chunks, and cancel cancels all reads.
	abandon, cancel context.CancelFunc

	closed  sync.Once
	mu      sync.Mutex
	err     error // returned by all subsequent reads
	at      int64 // position of the next byte
	next    int64 // start of the next chunk
	head    io.ReadCloser
	end     int64 // end of head
	queue   []*chunk
	single  bool // head is the only part
	isWhole bool // head is the complete content
	started bool
}

// NewRangeReader returns a reader and requests the first chunk. If this request fails,
// the reader uses a single stream, and NewRangeReader returns the error from Whole, if
// any. The caller must close the reader. The reader fails after its context is
// canceled.
func NewRangeReader(ctx context.Context, c RangeSource, w *BufferPool) (*RangeReader, error) {
	ctx, cancel := context.WithCancel(ctx)
	pieces, abandon := context.WithCancel(ctx)
	r := &RangeReader{content: c, buffers: w.newHandle(), abandon: abandon, cancel: cancel}
	r.direct = func(part Range) io.ReadCloser { return c.openPart(ctx, part, nil) }
	r.ahead = func(part Range, blocks [][]byte) *chunk {
		p := newChunk(r.buffers, blocks, int(part.End-part.From))
		go p.fill(c.openPart(pieces, part, asLimit))
		return p
	}
	r.whole = func() (io.ReadCloser, error) { return c.Whole(ctx) }
	first := Range{End: min(r.buffers.chunkSize(), c.Size), Size: c.Size}
	body, err := c.Open(ctx, first)
	if err == nil {
		r.head, r.end, r.next = &ResumedBody{End: first.End, Current: body, Open: c.opener(ctx, first, nil), Pause: c.pauser(ctx)}, first.End, first.End
		return r, nil
	}
	r.reportRefusal(err)
	if r.head, err = r.whole(); err != nil {
		_ = r.Close()
		return nil, err
	}
	r.isWhole = true
	return r, nil
}

// Read implements [io.Reader].
func (r *RangeReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	var n int
	n, r.err = r.read(p)
	return n, r.err
}

func (r *RangeReader) read(p []byte) (int, error) {
	if !r.started {
		r.started = true
		r.refill()
	}
	for {
		if r.isWhole {
			return r.head.Read(p)
		}
		if r.at == r.end {
			if r.at == r.content.Size {
				return 0, io.EOF
			}
			r.advance()
		}
		n, err := r.head.Read(p[:min(int64(len(p)), r.end-r.at)])
		r.at += int64(n)
		if n > 0 || err == nil {
			return n, nil // the next read returns the error
		}
		if err := r.recover(err); err != nil {
			return 0, err
		}
	}
}

// advance moves to the next part. This is a requested chunk, or a part that is read
// directly from the network. If only one connection is allowed, the part is the rest of
// the content.
func (r *RangeReader) advance() {
	_ = r.head.Close()
	if len(r.queue) > 0 {
		first := r.queue[0]
		r.queue = r.queue[1:]
		r.head, r.end = first, r.at+int64(first.size)
	} else {
		part := Range{From: r.at, End: r.content.Size, Size: r.content.Size}
		if !r.single {
			part.End = min(part.End, r.at+maxChunk*blockSize)
		}
		r.head, r.end, r.next = r.direct(part), part.End, part.End
	}
	r.refill()
}

// refill requests more chunks while the pool has memory for them.
func (r *RangeReader) refill() {
	for _, p := range r.queue {
		r.single = r.single || p.failed()
	}
	for !r.single && !r.isWhole && len(r.queue) < Connections-1 && r.next < r.content.Size {
		blocks := r.buffers.acquire(r.content.Size - r.next)
		if blocks == nil {
			return
		}
		part := Range{From: r.next, End: min(r.next+int64(len(blocks))*blockSize, r.content.Size), Size: r.content.Size}
		r.queue = append(r.queue, r.ahead(part, blocks))
		r.next = part.End
	}
}

// recover continues after head has failed. If the failed chunk was requested
// concurrently, recover requests it again without other connections. If the server does
// not support ranges, recover reads the complete content from its start up to the
// current position.
func (r *RangeReader) recover(err error) error {
	_, wasAhead := r.head.(*chunk)
	r.reportRefusal(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isRangeMismatch(err):
		return r.restart()
	case wasAhead:
		r.fallBackToSingleStream()
		return nil
	}
	return err
}

// fallBackToSingleStream requests the missing part of head, and all parts up to the
// next received chunk, in a single stream. It waits until every other connection has
// been closed, because the server might limit the number of connections.
func (r *RangeReader) fallBackToSingleStream() {
	r.single = true
	_ = r.head.Close()
	for _, p := range r.queue {
		p.end()
	}
	for len(r.queue) > 0 && r.queue[0].failed() {
		r.end += int64(r.queue[0].size)
		_ = r.queue[0].Close()
		r.queue = r.queue[1:]
	}
	if len(r.queue) == 0 {
		r.end, r.next = r.content.Size, r.content.Size
	}
	r.head = r.direct(Range{From: r.at, End: r.end, Size: r.content.Size})
}

// restart reads the complete content from its start. It skips the bytes that have
// already been returned.
func (r *RangeReader) restart() error {
	r.drop()
	body, err := r.whole()
	if err != nil {
		return err
	}
	r.head, r.isWhole = body, true
	_, err = io.CopyN(io.Discard, body, r.at)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// drop closes all parts and releases their memory.
func (r *RangeReader) drop() {
	r.abandon()
	if r.head != nil {
		_ = r.head.Close()
	}
	for _, p := range r.queue {
		_ = p.Close()
	}
	r.head, r.queue = nil, nil
}

// Close closes all connections and waits for all goroutines of the reader. A blocked
// Read returns. Close always returns nil.
func (r *RangeReader) Close() error {
	r.closed.Do(func() {
		r.cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.drop()
		r.buffers.close()
		if r.err == nil {
			r.err = fs.ErrClosed
		}
	})
	return nil
}

func (r *RangeReader) reportRefusal(err error) {
	if isRangeMismatch(err) || errors.Is(err, ErrLimited) {
		r.content.OnRefused(err)
	}
}

// ReportMismatch reports that the content has the wrong digest. It returns true if the
// content was read in parts, because reading a single stream might then help.
func (r *RangeReader) ReportMismatch(why error) (parts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isWhole && r.next == 0 {
		return false
	}
	r.content.OnRefused(why)
	return true
}

// isRangeMismatch reports whether err, or the reason why an interrupted response was
// not resumed, is [ErrRangeMismatch].
func isRangeMismatch(err error) bool {
	if stopped, ok := errors.AsType[*NotResumedError](err); ok {
		err = stopped.Reason
	}
	return errors.Is(err, ErrRangeMismatch)
}
