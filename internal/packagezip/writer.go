package packagezip

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// HashWriter hashes the archive that is written to it, like [HashStream], in a separate
// goroutine. Use it with an [io.MultiWriter] or [io.TeeReader] to hash a copy. Write
// blocks if hashing is more than 1 MiB behind. It never returns an error, because an
// archive that cannot be hashed can still be copied.
type HashWriter struct {
	pipe     *transfer.Pipe
	done     chan struct{}
	contents Contents
	err      error
}

// NewHashWriter starts a HashWriter. The caller must call [HashWriter.Close].
func NewHashWriter(ctx context.Context) *HashWriter {
	w := &HashWriter{pipe: transfer.NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer w.pipe.CloseRead()
		w.contents, w.err = hashStream(ctx, w.pipe, usualLimits())
	}()
	return w
}

// Write hashes the next bytes of the archive. After the archive was found to be
// invalid, or after Close, it discards them.
func (w *HashWriter) Write(p []byte) (int, error) {
	_, _ = w.pipe.Write(p) // fails only if hashing has stopped
	return len(p), nil
}

// Contents returns the hashes after all bytes of the archive were written and verified
// by the caller. It returns the errors of [HashStream], except those of a source.
func (w *HashWriter) Contents() (Contents, error) {
	w.pipe.CloseWrite(nil)
	<-w.done
	return w.contents, w.err
}

// Close stops the hashing and waits for its goroutine. A blocked Write returns. Close
// always returns nil.
func (w *HashWriter) Close() error {
	w.pipe.CloseRead()
	<-w.done
	return nil
}
