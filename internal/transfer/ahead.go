package transfer

import "io"

// Ahead reads a source in a separate goroutine, up to 1 MiB ahead of its reader.
type Ahead struct {
	pipe *Pipe
	done chan struct{}
}

// ReadAhead starts reading src. The caller must not read src until [Ahead.Close] has
// returned.
func ReadAhead(src io.Reader) *Ahead {
	a := &Ahead{pipe: NewPipe(), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		_, err := a.pipe.ReadFrom(src)
		a.pipe.CloseWrite(err)
	}()
	return a
}

// Read returns the source's bytes, followed by the source's error.
func (a *Ahead) Read(p []byte) (int, error) { return a.pipe.Read(p) }

// WriteTo implements [io.WriterTo] without copying the buffers. It returns nil at the
// end of the source.
func (a *Ahead) WriteTo(w io.Writer) (int64, error) { return a.pipe.WriteTo(w) }

// Close stops reading ahead and returns when the goroutine has exited. It waits for the
// source's current Read call. Therefore, Read must return when the source's context is
// canceled. Close always returns nil.
func (a *Ahead) Close() error {
	a.pipe.CloseRead()
	<-a.done
	return nil
}

// Copy copies src to dst like [io.Copy]. If the content exceeds a buffer, Copy reads
// and writes concurrently. size is the expected size in bytes, or -1.
func Copy(dst io.Writer, src io.Reader, size int64) (int64, error) {
	if 0 <= size && size <= bufferSize {
		return io.Copy(dst, src)
	}
	ahead := ReadAhead(src)
	defer ahead.Close()
	return ahead.WriteTo(dst)
}
