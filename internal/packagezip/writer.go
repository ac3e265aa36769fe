package packagezip

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// HashWriter hashes the archive that is written to it. Like [HashStream], it uses a
// separate goroutine. Use HashWriter with an [io.MultiWriter] or [io.TeeReader] to hash
// data that is being copied. Write blocks if hashing is more than 1 MiB behind. It
// never returns an error, because even an archive that cannot be hashed can be copied.
type HashWriter struct {
	pipe     *transfer.Pipe
	done     chan struct{}
	contents Contents
	err      error
}

// NewHashWriter starts a HashWriter. The caller must call [HashWriter.Close].
func NewHashWriter(ctx context.Context, options ...HashOption) *HashWriter {
	w := &HashWriter{pipe: transfer.NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer w.pipe.CloseRead()
		w.contents, w.err = hashStream(ctx, w.pipe, usualLimits(), options...)
	}()
	return w
}

// Write hashes the next bytes of the archive. It discards the bytes if the archive is
// invalid or Close was called.
func (w *HashWriter) Write(p []byte) (int, error) {
	_, _ = w.pipe.Write(p) // fails only if hashing has stopped
	return len(p), nil
}

// Contents returns the hashes. Before Contents is called, the caller must have written
// and verified all bytes of the archive. Contents returns the same errors as
// [HashStream], except source errors.
func (w *HashWriter) Contents() (Contents, error) {
	w.pipe.CloseWrite(nil)
	<-w.done
	return w.contents, w.err
}

// Close stops hashing and waits for its goroutine. A blocked Write returns. Close
// always returns nil.
func (w *HashWriter) Close() error {
	w.pipe.CloseRead()
	<-w.done
	return nil
}
