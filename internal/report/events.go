package report

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// events writes a run's events as one JSON object per line. docs/cli.md and
// docs/schema/v2/events.schema.json describe the events.
type events struct {
	mu sync.Mutex
	// w is nil after a write error, because the run continues without the events file.
	w    io.WriteCloser
	warn func(format string, args ...any)
}

// openEvents creates or truncates the events file.
func openEvents(name string, o *Report) (*events, error) {
	switch name {
	case "-", "/dev/stdout":
		return nil, provider.Errorf(provider.Misuse, "invalid --events %s: stdout is reserved for the result; use a file or /dev/stderr", name)
	case "/dev/stderr":
		// Opening /dev/stderr would truncate the file if stderr is redirected to a
		// file.
		return &events{w: progressWriter{o}, warn: o.Warn}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, provider.Errorf(provider.Misuse, "--events: %w", err)
	}
	return &events{w: file, warn: o.Warn}, nil
}

// progressWriter writes complete lines to stderr without disturbing the progress
// display.
type progressWriter struct{ o *Report }

func (w progressWriter) Write(line []byte) (int, error) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	return w.o.stderr.Write(line)
}

func (progressWriter) Close() error { return nil }

// handle writes an event with its time. After the last event, it closes the file.
func (e *events) handle(event any) {
	line, is := event.(interface{ setTime(t time.Time) })
	if !is {
		return
	}
	_, last := event.(*runFinished)
	if err := e.write(line, last); err != nil {
		e.warn("writing events failed; the run continues without them: %v", err)
	}
}

func (e *events) write(line interface{ setTime(t time.Time) }, last bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.w == nil {
		return nil
	}
	line.setTime(time.Now())
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
