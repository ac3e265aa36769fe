package launch

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// maxLine is go-plugin's maximum length of a handshake line, in bytes.
const maxLine = 64 << 10

// meter counts a provider's total output.
type meter struct {
	left atomic.Int64
	over func()
}

func newMeter(limit int64, over func()) *meter {
	m := &meter{over: over}
	m.left.Store(limit)
	return m
}

// Write counts and discards p.
func (m *meter) Write(p []byte) (int, error) {
	if m.left.Add(-int64(len(p))) < 0 {
		m.over()
	}
	return len(p), nil
}

// pipe is a provider's stdout or stderr. Bytes that are read from it are counted and
// passed to an observer.
type pipe struct {
	file  *os.File
	meter *meter

	mu       sync.Mutex
	observer io.Writer
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.file.Read(b)
	_, _ = p.meter.Write(b[:n])
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.observer.Write(b[:n])
	return n, err
}

// Close closes the pipe.
func (p *pipe) Close() error { return p.file.Close() }

// firstLine stores the first line of the written bytes.
type firstLine struct {
	text []byte
	// complete reports whether the line has ended.
	complete bool
}

func (l *firstLine) Write(p []byte) (int, error) {
	if !l.complete {
		var line []byte
		line, _, l.complete = bytes.Cut(p, []byte("\n"))
		l.text = append(l.text, line[:min(len(line), maxLine-len(l.text))]...)
	}
	return len(p), nil
}

// firstLine returns the first line of stdout, as far as it has been read.
func (p *process) firstLine() (text string, complete bool) {
	p.stdout.mu.Lock()
	defer p.stdout.mu.Unlock()
	return string(p.first.text), p.first.complete
}

// stderrEnd returns the end of stderr as one line.
func (p *process) stderrEnd() string {
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.tail.Text()
}
