package transfer

import "io"

// Ahead reads a source in a goroutine of its own, up to 1 MiB ahead of who
// reads from it.
type Ahead struct {
	pipe *Pipe
	done chan struct{}
}

// ReadAhead begins to read src, which nobody else may read until
// [Ahead.Close] has returned.
func ReadAhead(src io.Reader) *Ahead {
	a := &Ahead{pipe: NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		_, err := a.pipe.ReadFrom(src)
		a.pipe.CloseWrite(err)
	}()
	return a
}

// Read returns the source's bytes and then its error.
func (a *Ahead) Read(p []byte) (int, error) { return a.pipe.Read(p) }

// WriteTo implements [io.WriterTo]: the buffers go on as they are. It ends
// without an error when the source ends.
func (a *Ahead) WriteTo(w io.Writer) (int64, error) { return a.pipe.WriteTo(w) }

// Close ends the reading ahead and returns when the goroutine has ended. It
// waits for a Read of the source that is under way, so that one has to end with
// the context of who opened the source. The error is always nil.
func (a *Ahead) Close() error {
	a.pipe.CloseRead()
	<-a.done
	return nil
}

// Copy copies src to dst like [io.Copy], and reads and writes at the same time
// when there is more than fits into a buffer. Size is what src is expected to
// have, in bytes, or -1.
func Copy(dst io.Writer, src io.Reader, size int64) (int64, error) {
	if 0 <= size && size <= bufferSize {
		return io.Copy(dst, src)
	}
	ahead := ReadAhead(src)
	defer ahead.Close()
	return ahead.WriteTo(dst)
}
