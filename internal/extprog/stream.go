package extprog

import (
	"io"
	"os"
)

// stream is a pipe from a process to a writer.
type stream struct {
	read, write *os.File
	// done is closed when all output has been copied.
	done chan struct{}
}

func newStream(w io.Writer) (*stream, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &stream{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.copy(w)
	}()
	return s, nil
}

// capped stores the bytes that are written to it, up to a limit. It discards all other
// bytes, so that the process does not block.
type capped struct {
	max  int
	data []byte
	// isOver is set if output was discarded. over is called for each discarded write.
	isOver bool
	over   func()
}

func (b *capped) Write(p []byte) (int, error) {
	room := max(b.max-len(b.data), 0)
	b.data = append(b.data, p[:min(len(p), room)]...)
	if len(p) > room {
		b.isOver = true
		b.over()
	}
	return len(p), nil
}

// Tail stores the last 2 KiB of the written bytes. The zero value is empty.
type Tail struct{ data []byte }

// Write always writes all of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(len(p)-maxStderr, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-maxStderr, 0):]...)
	return len(p), nil
}

// Text returns the stored text, formatted by [OneLine].
func (t *Tail) Text() string { return OneLine(t.data) }
