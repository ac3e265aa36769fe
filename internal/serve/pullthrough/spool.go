package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// spool is a zip in transfer. It is a growing temporary file with any number of
// readers. The source withholds the last bytes until the digest is verified, so no
// reader receives a complete zip with a wrong digest. When the last reference is
// released, the file is removed, and an unfinished download is canceled.
type spool struct {
	puller *Puller
	pkg    provider.Package

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

func newSpool(p *Puller, pkg provider.Package) *spool {
	return &spool{puller: p, pkg: pkg, changed: make(chan struct{}), references: 1, cancel: func() {}, total: -1}
}

func (s *spool) retain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references++
}

// release releases a reference. When the last reference is released, the file is
// removed.
func (s *spool) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references--
	s.cleanUp()
}

// cleanUp removes the file if no references remain.
func (s *spool) cleanUp() {
	if s.references > 0 {
		return
	}
	s.cancel()
	if !s.finished {
		return // run cleans up after it has finished
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	s.puller.disk.Release(s.reserved)
	s.reserved = 0
}

// change calls set and notifies waiting readers.
func (s *spool) change(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
	close(s.changed)
	s.changed = make(chan struct{})
}

// run downloads the zip.
func (s *spool) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	if s.references == 0 {
		cancel()
	}
	s.mu.Unlock()
	err := s.fetch(ctx)
	s.change(func() {
		if s.finished, s.err = true, err; err == nil {
			s.total = s.written
		}
		s.cleanUp()
	})
}

// fetch downloads the zip when a slot is free. It retries failed downloads.
func (s *spool) fetch(ctx context.Context) error {
	select {
	case s.puller.downloads <- struct{}{}:
		defer func() { <-s.puller.downloads }()
	case <-ctx.Done():
		return ctx.Err()
	}
	retrier := transfer.Retrier{Backoff: s.puller.options.Backoff}
	return retrier.Do(ctx, "fetching "+s.pkg.Filename, func() error { return s.download(ctx) })
}

// download makes one attempt to download the zip from the start.
func (s *spool) download(ctx context.Context) error {
	body, size, err := s.puller.options.Source.Open(ctx, s.pkg)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := s.prepare(size); err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{bounded.Reader(ctx, body)}, make([]byte, 128<<10))
	return err
}

// prepare reserves disk space for the size that this attempt reports. If the file
// doesn't exist, it creates the file. prepare never waits for disk space, because the
// downloads that occupy the space might be waiting for this download.
func (s *spool) prepare(size int64) error {
	if err := s.reserve(size); err != nil {
		return err
	}
	if s.file == nil {
		file, err := atomicfile.NewScratchFile(s.puller.options.Dir, size)
		if errors.Is(err, syscall.ENOSPC) {
			return errNoRoom
		}
		if err != nil {
			return err
		}
		s.change(func() { s.file = file })
	}
	s.change(func() { s.total, s.written = size, 0 })
	return nil
}

// reserve changes the amount of reserved disk space. [spool.cleanUp] releases the
// space.
func (s *spool) reserve(size int64) error {
	if size < 0 {
		size = artifact.MaxZipSize
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := size - s.reserved; more > 0 && !s.puller.disk.TryAcquire(more) {
		return errNoRoom
	}
	if less := s.reserved - size; less > 0 {
		s.puller.disk.Release(less)
	}
	s.reserved = size
	return nil
}

// Write implements [io.Writer]. It appends to the file.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.WriteAt(p, s.written)
	if err != nil {
		return n, fmt.Errorf("storing %s temporarily: %w", s.pkg.Filename, err)
	}
	s.change(func() { s.written += int64(n) })
	return n, nil
}

// size returns the size in bytes as soon as it is known.
func (s *spool) size(ctx context.Context) (int64, error) {
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
func (s *spool) readAt(ctx context.Context, p []byte, offset int64) (int, error) {
	for {
		s.mu.Lock()
		file, written, finished, err, changed := s.file, s.written, s.finished, s.err, s.changed
		s.mu.Unlock()
		switch {
		case offset < written:
			n, err := file.ReadAt(p[:min(int64(len(p)), written-offset)], offset)
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				err = fmt.Errorf("reading the temporary copy of %s: %w", s.pkg.Filename, io.ErrUnexpectedEOF)
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

// reader returns a verifying reader of the zip. Closing it releases the spool.
func (s *spool) reader(ctx context.Context, pkg provider.Package) io.ReadCloser {
	f := &spoolReader{ctx: ctx, spool: s, release: sync.OnceFunc(s.release)}
	return sums.NewReadCloser(f, pkg.Filename, pkg.Size, pkg.Digest)
}

// spoolReader reads a spool and holds a reference to it.
type spoolReader struct {
	ctx     context.Context //nolint:containedctx // the context belongs to the only reader
	spool   *spool
	release func()
	offset  int64
}

// Read implements [io.Reader].
func (f *spoolReader) Read(p []byte) (int, error) {
	n, err := f.spool.readAt(f.ctx, p, f.offset)
	f.offset += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt]. It waits for bytes that are not yet downloaded.
func (f *spoolReader) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = f.spool.readAt(f.ctx, p[n:], offset+int64(n))
		n += k
	}
	return n, err
}

// Close implements [io.Closer].
func (f *spoolReader) Close() error {
	f.release()
	return nil
}
