package report

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// events writes what happens in a run, one JSON object a line; docs/operations.md
// and docs/schema/events.schema.json document them.
type events struct {
	mu sync.Mutex
	// w is nil once it has failed: a run goes on without its events.
	w    io.WriteCloser
	warn func(format string, args ...any)
}

// openEvents makes a file for events, or empties it.
func openEvents(name string, o *Report) (*events, error) {
	switch name {
	case "-", "/dev/stdout":
		return nil, provider.Errorf(provider.Misuse, "--events %s: stdout is for the result: name a file, or /dev/stderr", name)
	case "/dev/stderr":
		// Opened by its name, a file that stderr goes to would lose what it has.
		return &events{w: besideProgress{o}, warn: o.Warn}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, provider.Errorf(provider.Misuse, "--events: %w", err)
	}
	return &events{w: file, warn: o.Warn}, nil
}

// besideProgress writes whole lines to stderr, between those of others.
type besideProgress struct{ o *Report }

func (w besideProgress) Write(line []byte) (int, error) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	return w.o.stderr.Write(line)
}

func (besideProgress) Close() error { return nil }

// hear writes an event with its time, at once and whole. The last one closes the file.
func (e *events) hear(happened any) {
	line, is := happened.(interface{ happened(at time.Time) })
	if !is {
		return
	}
	_, last := happened.(*runFinished)
	if err := e.write(line, last); err != nil {
		e.warn("--events ends here, the run goes on: %v", err)
	}
}

func (e *events) write(line interface{ happened(at time.Time) }, last bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.w == nil {
		return nil
	}
	line.happened(time.Now())
	text, err := encoded(line, "")
	if err == nil {
		_, err = io.WriteString(e.w, text)
	}
	if err == nil && !last {
		return nil
	}
	err = errors.Join(err, e.w.Close())
	e.w = nil
	return err
}
