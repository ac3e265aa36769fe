// Package spool shares downloads of zips between readers. A download writes to a
// growing temporary file, and any number of readers read the file while it grows.
package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// DefaultMaxDisk is the default limit for disk space, in bytes. The largest releases
// are about 3 GB in size, but only a few of their zips are transferred at a time.
const DefaultMaxDisk = 8 << 30

// ErrNotStored means that a zip can't be stored temporarily, for example because the
// zip exceeds the disk space limit.
var ErrNotStored = provider.Errorf(provider.Transient, "can't buffer the zip on disk")

// Pool limits the disk space of spools. It is safe for concurrent use.
type Pool struct {
	dir     string
	disk    *semaphore.Weighted
	backoff func(attempt int) time.Duration
}

// NewPool returns a pool whose files in dir use at most maxDisk bytes. If dir is empty,
// the system's temporary directory is used. If maxDisk is not positive,
// [DefaultMaxDisk] is used. backoff returns the pause before a retry, as in
// [transfer.Retrier].
func NewPool(dir string, maxDisk int64, backoff func(attempt int) time.Duration) *Pool {
	if maxDisk <= 0 {
		maxDisk = DefaultMaxDisk
	}
	return &Pool{dir: dir, disk: semaphore.NewWeighted(maxDisk), backoff: backoff}
}

// Spool is a zip that is downloaded to a growing temporary file, which any number of
// readers can read. When the last reference is released, the file is removed, and an
// unfinished download is canceled. Readers must verify the content, because a retry can
// replace bytes that they have already read.
type Spool struct {
	pool *Pool
	name string
	open func(context.Context) (io.ReadCloser, int64, error)

	mu sync.Mutex
	// changed is closed and replaced whenever one of the fields below changes.
	changed    chan struct{}
	references int
	cancel     context.CancelFunc
	file       *atomicfile.ScratchFile
	// total is the size in bytes, or -1 if the size is unknown.
	total int64
	// written is the number of bytes in the file.
	written  int64
	finished bool
	err      error
	// reserved is the reserved disk space in bytes.
	reserved int64
}

// New returns a spool with one reference. open opens the zip, like the Open method of
// [provider.Source]. It is called again for each retry. The caller must call
// [Spool.Run].
func (p *Pool) New(name string, open func(context.Context) (io.ReadCloser, int64, error)) *Spool {
	return &Spool{pool: p, name: name, open: open, changed: make(chan struct{}), references: 1, cancel: func() {}, total: -1}
}

// Retain adds a reference. It returns false if the last reference has already been
// released.
func (s *Spool) Retain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.references == 0 {
		return false
	}
	s.references++
	return true
}

// Release releases a reference.
func (s *Spool) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references--
	s.cleanUp()
}

// cleanUp removes the file if no references remain.
func (s *Spool) cleanUp() {
	if s.references > 0 {
		return
	}
	s.cancel()
	if !s.finished {
		return // Run cleans up after it has finished
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	s.pool.disk.Release(s.reserved)
	s.reserved = 0
}

// change calls set and notifies waiting readers.
func (s *Spool) change(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Run downloads the zip. It retries failed downloads.
func (s *Spool) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	if s.references == 0 {
		cancel()
	}
	s.mu.Unlock()
	retrier := transfer.Retrier{Backoff: s.pool.backoff}
	err := retrier.Do(ctx, "fetching "+s.name, func() error { return s.download(ctx) })
	s.change(func() {
		if s.finished, s.err = true, err; err == nil {
			s.total = s.written
		}
		s.cleanUp()
	})
}

// download makes one attempt to download the zip from the start.
func (s *Spool) download(ctx context.Context) error {
	body, size, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := s.prepare(size); err != nil {
		return err
	}
	_, err = io.CopyBuffer(fileWriter{s}, struct{ io.Reader }{bounded.Reader(ctx, body)}, make([]byte, 128<<10))
	return err
}

// prepare reserves disk space for the size that this attempt's response specifies. If
// the file doesn't exist, it creates the file. prepare never waits for disk space,
// because the downloads that occupy the space might be waiting for this download.
func (s *Spool) prepare(size int64) error {
	if err := s.reserve(size); err != nil {
		return err
	}
	if s.file == nil {
		file, err := atomicfile.NewScratchFile(s.pool.dir, size)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotStored, err)
		}
		s.change(func() { s.file = file })
	}
	s.change(func() { s.total, s.written = size, 0 })
	return nil
}

// reserve changes the amount of reserved disk space. [Spool.cleanUp] releases the
// space.
func (s *Spool) reserve(size int64) error {
	if size < 0 {
		size = artifact.MaxZipSize
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := size - s.reserved; more > 0 && !s.pool.disk.TryAcquire(more) {
		return fmt.Errorf("%w: the disk space limit has been reached", ErrNotStored)
	}
	if less := s.reserved - size; less > 0 {
		s.pool.disk.Release(less)
	}
	s.reserved = size
	return nil
}

// fileWriter appends to the file of a spool.
type fileWriter struct{ *Spool }

// Write implements [io.Writer].
func (s fileWriter) Write(p []byte) (int, error) {
	n, err := s.file.WriteAt(p, s.written)
	if err != nil {
		return n, fmt.Errorf("storing %s temporarily: %w", s.name, err)
	}
	s.change(func() { s.written += int64(n) })
	return n, nil
}

// Size returns the size in bytes as soon as it is known.
func (s *Spool) Size(ctx context.Context) (int64, error) {
	for {
		s.mu.Lock()
		total, finished, err, changed := s.total, s.finished, s.err, s.changed
		s.mu.Unlock()
		switch {
		case finished && err != nil:
			return 0, err
		case total >= 0:
			return total, nil
		}
		if err := wait(ctx, changed); err != nil {
			return 0, err
		}
	}
}

// readAt reads the available bytes at an offset. If no bytes are available, it waits.
func (s *Spool) readAt(ctx context.Context, p []byte, offset int64) (int, error) {
	for {
		s.mu.Lock()
		file, written, finished, err, changed := s.file, s.written, s.finished, s.err, s.changed
		s.mu.Unlock()
		switch {
		case offset < written:
			n, err := file.ReadAt(p[:min(int64(len(p)), written-offset)], offset)
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				err = fmt.Errorf("reading the temporary copy of %s: %w", s.name, io.ErrUnexpectedEOF)
			}
			return n, err
		case finished && err != nil:
			return 0, err
		case finished:
			return 0, io.EOF
		}
		if err := wait(ctx, changed); err != nil {
			return 0, err
		}
	}
}

func wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reader returns a reader, which takes over one of the caller's references.
func (s *Spool) Reader(ctx context.Context) *Reader {
	return &Reader{ctx: ctx, spool: s, release: sync.OnceFunc(s.Release)}
}

// Reader reads a spool and waits for bytes that are not yet downloaded.
type Reader struct {
	ctx     context.Context //nolint:containedctx // the context belongs to the only reader
	spool   *Spool
	release func()
	offset  int64
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.spool.readAt(r.ctx, p, r.offset)
	r.offset += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (r *Reader) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.spool.readAt(r.ctx, p[n:], offset+int64(n))
		n += k
	}
	return n, err
}

// Close releases the reader's reference. It can be called more than once.
func (r *Reader) Close() error {
	r.release()
	return nil
}
