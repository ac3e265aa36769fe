package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
)

const (
	// MinRanged is the size from which pieces are faster than one stream.
	MinRanged = 16 << 20
	// Connections is how many pieces of one content are under way at most.
	Connections = 8
)

// RangeReader reads a content in order while its pieces arrive over several
// connections. What is not in a window comes straight from the network, so that
// reading goes on whatever the others hold. A RangeReader is for one goroutine, but
// for Close.
type RangeReader struct {
	content RangeSource
	buffers *poolHandle
	// direct and ahead begin a part, whole all of it: they know the context.
	direct func(r Range) io.ReadCloser
	ahead  func(r Range, blocks [][]byte) *chunk
	whole  func() (io.ReadCloser, error)
	// abandon ends the pieces, cancel everything.
	abandon, cancel context.CancelFunc

	closed  sync.Once
	mu      sync.Mutex
	err     error // what every further Read returns
	at      int64 // where the next byte is from
	next    int64 // where the next piece begins
	head    io.ReadCloser
	end     int64 // where head ends
	queue   []*chunk
	single  bool // no further pieces beside the head
	isWhole bool // head is the whole content, to its own end
	started bool
}

// NewRangeReader makes a reader. It asks for the first piece, and reads one stream where
// that is not answered by the range; then the error is that of Whole. The reader
// has to be closed; it ends with its context.
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
			return n, nil // the error comes again
		}
		if err := r.recover(err); err != nil {
			return 0, err
		}
	}
}

// advance goes on to the next part: a piece that has been asked for, or one that
// comes straight from the network, which is all the rest when no other connection
// is wanted.
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

// refill asks for further pieces, as far as there are windows for them.
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

// recover goes on where the head failed. A piece that was asked for beside others
// is asked for alone; where answers are no ranges, the whole is read up to here.
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

// goAlone asks for what the head did not give, and for what follows up to the
// next piece that was given, in one stream. It waits for the other connections:
// they may be what the server has too many of.
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

// readAll begins the whole anew and leaves out what was read.
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

// drop ends all parts and gives their windows back.
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

// Close ends all connections, and returns when nothing of the reader is left. A
// Read that waits ends. The error is always nil.
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

// Wrong says that what was read has another digest. It tells whether there were
// parts, so that one stream may be right.
func (r *RangeReader) ReportMismatch(why error) (parts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isWhole && r.next == 0 {
		return false
	}
	r.content.OnRefused(why)
	return true
}

// isUnlike looks also at why an answer that broke off did not go on.
func isRangeMismatch(err error) bool {
	if stopped, ok := errors.AsType[*NotResumedError](err); ok {
		err = stopped.Reason
	}
	return errors.Is(err, ErrRangeMismatch)
}
