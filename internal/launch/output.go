package launch

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
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

// counted is a pipe whose bytes are counted.
type counted struct {
	*os.File
	meter *meter
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	_, _ = c.meter.Write(p[:n])
	return n, err
}

// firstLine is a provider's stdout, of which the first line is remembered.
type firstLine struct {
	from io.ReadCloser

	mu    sync.Mutex
	first []byte
	// whole tells that the end of the line was there.
	whole bool
}

func (s *firstLine) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole {
		var line []byte
		line, _, s.whole = bytes.Cut(p[:n], []byte("\n"))
		s.first = append(s.first, line[:min(len(line), maxLine-len(s.first))]...)
	}
	return n, err
}

// Close closes the pipe.
func (s *firstLine) Close() error { return s.from.Close() }

// line gives the first line, as far as it was read.
func (s *firstLine) line() (text string, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.first), s.whole
}

// lastWords is a provider's stderr, of which the end is remembered. Go-plugin cuts it
// into lines for a log, and reads no more when it is closed.
type lastWords struct {
	from io.ReadCloser

	mu   sync.Mutex
	tail extprog.Tail
}

func (l *lastWords) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.tail.Write(p[:n])
	return n, err
}

// Close closes the pipe.
func (l *lastWords) Close() error { return l.from.Close() }

// text gives the end, as one line.
func (l *lastWords) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail.Text()
}
