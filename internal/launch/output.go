package launch

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// maxLine is how long go-plugin lets the line of a handshake be.
const maxLine = 64 << 10

// meter counts what a provider prints, on any way.
type meter struct {
	left atomic.Int64
	over func()
}

func newMeter(limit int64, over func()) *meter {
	m := &meter{over: over}
	m.left.Store(limit)
	return m
}

// Write forgets p.
func (m *meter) Write(p []byte) (int, error) {
	if m.left.Add(-int64(len(p))) < 0 {
		m.over()
	}
	return len(p), nil
}

// pipe is an output of a provider. What is read from it is counted, and observed.
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

// firstLine keeps the first line of what is written to it.
type firstLine struct {
	text []byte
	// whole reports that the line has ended.
	whole bool
}

func (l *firstLine) Write(p []byte) (int, error) {
	if !l.whole {
		var line []byte
		line, _, l.whole = bytes.Cut(p, []byte("\n"))
		l.text = append(l.text, line[:min(len(line), maxLine-len(l.text))]...)
	}
	return len(p), nil
}

// firstLine returns the first line on stdout, as far as it was read.
func (p *process) firstLine() (text string, whole bool) {
	p.stdout.mu.Lock()
	defer p.stdout.mu.Unlock()
	return string(p.first.text), p.first.whole
}

// lastWords returns the end of stderr, as one line.
func (p *process) lastWords() string {
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.tail.Text()
}
