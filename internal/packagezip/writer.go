package packagezip

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// HashWriter hashes an archive that is written to it, as [HashStream] does, in a
// goroutine of its own. It is made to stand beside a copy, behind an
// [io.MultiWriter] or [io.TeeReader]: a Write waits while hashing is more than
// 1 MiB behind, and has no error, since whether an archive can be hashed must
// not decide whether it can be copied.
type HashWriter struct {
	pipe     *transfer.Pipe
	done     chan struct{}
	contents Contents
	err      error
}

// NewHashWriter begins to hash. It has to be ended by [HashWriter.Close].
func NewHashWriter(ctx context.Context) *HashWriter {
	w := &HashWriter{pipe: transfer.NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer w.pipe.CloseRead()
		w.contents, w.err = hashStream(ctx, w.pipe, usualLimits())
	}()
	return w
}

// Write takes the next bytes of the archive. Once the archive is known to be
// wrong, or after Close, it only passes over them.
func (w *HashWriter) Write(p []byte) (int, error) {
	_, _ = w.pipe.Write(p) // fails only where nothing is hashed any more
	return len(p), nil
}

// Contents says that all bytes of the archive were written, which must have been
// verified, and waits for the hashes. Errors are those of [HashStream], without
// those of a source.
func (w *HashWriter) Contents() (Contents, error) {
	w.pipe.CloseWrite(nil)
	<-w.done
	return w.contents, w.err
}

// Close ends the hashing, however far it is, and waits for its goroutine. A Write
// that waits is let go. The error is always nil.
func (w *HashWriter) Close() error {
	w.pipe.CloseRead()
	<-w.done
	return nil
}
