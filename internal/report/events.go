package report

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// events writes a run's events as one JSON object per line. docs/output.md and
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

// eventsSchema is the version of the event schema. It changes if a field is removed or
// a field's meaning changes, but not if fields or events are added.
const eventsSchema = 2

// event contains the fields that all events share.
type event struct {
	// Time is the UTC time in RFC 3339 format.
	Time  string `json:"time"`
	Event string `json:"event"`
}

func (e *event) setTime(t time.Time) { e.Time = t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// runStarted is the first event.
type runStarted struct {
	event
	Schema         int    `json:"schema"`
	Program        string `json:"program"`
	ProgramVersion string `json:"program_version"`
	Command        string `json:"command"`
	DryRun         bool   `json:"dry_run,omitempty"`
}

type runPlanned struct {
	event
	Items int `json:"items"`
}

type itemStarted struct {
	event
	Provider string `json:"provider"`
	Version  string `json:"version"`
}

// itemFinished has the fields that an item has with --output json.
type itemFinished struct {
	event
	Item
	// Seconds is nil if the item was not started.
	Seconds *float64 `json:"seconds,omitempty"`
}

// transferOf identifies the zip that is being transferred.
type transferOf struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Filename string `json:"filename"`
}

func ofPackage(p provider.Package) transferOf {
	return transferOf{p.Address.String(), p.Version.String(), p.Platform.String(), p.Filename}
}

type transferStarted struct {
	event
	transferOf
	// Size is zero if the size is unknown.
	Size int64 `json:"size,omitempty"`

	transfer *transfer
}

type transferFinished struct {
	event
	transferOf
	Bytes   int64              `json:"bytes"`
	Seconds float64            `json:"seconds"`
	Error   *outcome.ErrorItem `json:"error,omitempty"`

	transfer *transfer
}

// retried reports a retry. Host, Wait, Try, and Of are set only if a single request is
// retried, because restarting a transfer can require several requests.
type retried struct {
	event
	What   string  `json:"what"`
	Reason string  `json:"reason"`
	Host   string  `json:"host,omitempty"`
	Wait   float64 `json:"wait_seconds,omitempty"`
	Try    int     `json:"try,omitempty"`
	Of     int     `json:"of,omitempty"`
}

// paused reports that a host throttles requests and receives no requests during the
// pause.
type paused struct {
	event
	Host   string  `json:"host"`
	Reason string  `json:"reason"`
	Wait   float64 `json:"wait_seconds"`
}

// runFinished is the last event.
type runFinished struct {
	event
	// Statuses maps each status to the number of items.
	Statuses map[string]int     `json:"statuses"`
	Bytes    int64              `json:"bytes"`
	Seconds  float64            `json:"seconds"`
	ExitCode int                `json:"exit_code"`
	Error    *outcome.ErrorItem `json:"error,omitempty"`
}

// seconds returns a duration in seconds, rounded to milliseconds.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
