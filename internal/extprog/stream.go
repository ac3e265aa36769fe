package extprog

import (
	"io"
	"os"
	"time"
)

// strayDelay is how long output is still awaited when the process group has
// ended. Only a process that left the group can hold the pipe open by then, and
// its output is nobody's answer.
const strayDelay = time.Second

// stream is a pipe from a process to a writer.
type stream struct {
	read, write *os.File
	// done is closed when everything is copied.
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
		// The writers take everything, and reading ends with the pipe.
		_, _ = io.Copy(w, read)
	}()
	return s, nil
}

// end waits for the rest of the output. The writer is the caller's again.
func (s *stream) end() {
	// The process has its own copy of this end, if it was started at all.
	_ = s.write.Close()
	timer := time.NewTimer(strayDelay)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
	_ = s.read.Close()
	<-s.done
}

// capped keeps what is written to it, up to a number of bytes. It takes more,
// so that the process doesn't block, and forgets it.
type capped struct {
	max  int
	data []byte
	// isOver tells that there was more, over is called each time.
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

// Tail keeps the last 2 KiB of what is written to it. Its zero value is empty.
type Tail struct{ data []byte }

// Write takes all of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(len(p)-maxStderr, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-maxStderr, 0):]...)
	return len(p), nil
}

// Text returns what was kept as [OneLine].
func (t *Tail) Text() string { return OneLine(t.data) }
