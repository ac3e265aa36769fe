package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// events writes what happens in a run, one JSON object a line; docs/operations.md
// and docs/schema/events.schema.json document them. A nil *events writes nothing.
type events struct {
	mu sync.Mutex
	// w is nil once it has failed: a run goes on without its events.
	w     io.WriteCloser
	warn  func(format string, args ...any)
	began time.Time
	// items and transfers are those under way.
	items     map[string]time.Time
	transfers map[packageKey]*transferred
}

// transferred is what is known of a transfer under way.
type transferred struct {
	began time.Time
	bytes int64
}

// openEvents makes a file for events, or empties it; no name is no events.
func openEvents(name string, o *Report) (*events, error) {
	e := &events{warn: o.Warn, began: time.Now(), items: map[string]time.Time{}, transfers: map[packageKey]*transferred{}}
	switch name {
	case "":
		return nil, nil
	case "-", "/dev/stdout":
		return nil, provider.Errorf(provider.Misuse, "--events %s: stdout is for the result: name a file, or /dev/stderr", name)
	case "/dev/stderr":
		// Opened by its name, a file that stderr goes to would lose what it has.
		e.w = besideProgress{o}
	default:
		file, err := os.Create(name)
		if err != nil {
			return nil, provider.Errorf(provider.Misuse, "--events: %w", err)
		}
		e.w = file
	}
	return e, nil
}

// besideProgress writes whole lines to stderr, between those of others.
type besideProgress struct{ o *Report }

func (w besideProgress) Write(line []byte) (int, error) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	return w.o.stderr.Write(line)
}

func (besideProgress) Close() error { return nil }

// write gives an event its time and writes its line, at once and whole.
func (e *events) write(v interface{ happened(at time.Time) }) {
	e.mu.Lock()
	if e.w == nil {
		e.mu.Unlock()
		return
	}
	v.happened(time.Now())
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	if err == nil {
		_, err = io.WriteString(e.w, printableJSON(line.String()))
	}
	if err != nil {
		_ = e.w.Close()
		e.w = nil
	}
	e.mu.Unlock()
	if err != nil {
		e.warn("--events ends here, the run goes on: %v", err)
	}
}

func (e *events) runStarted(command, version string, dryRun bool) {
	if e != nil {
		e.write(&runStarted{event: event{Event: "run_started"}, Schema: eventsSchema, Program: "tofu-oci", ProgramVersion: version, Command: command, DryRun: dryRun})
	}
}

func (e *events) runPlanned(items int) {
	if e != nil {
		e.write(&runPlanned{event: event{Event: "run_planned"}, Items: items})
	}
}

func (e *events) itemStarted(a provider.Address, v provider.Version) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.items[a.String()+"@"+v.String()] = time.Now()
	e.mu.Unlock()
	e.write(&itemStarted{event: event{Event: "item_started"}, Provider: a.String(), Version: v.String()})
}

func (e *events) itemFinished(i Item) {
	if e == nil {
		return
	}
	e.mu.Lock()
	key := i.Provider + "@" + i.Version
	began, known := e.items[key]
	delete(e.items, key)
	e.mu.Unlock()
	line := &itemFinished{event: event{Event: "item_finished"}, Item: i}
	if known {
		line.Seconds = new(seconds(time.Since(began)))
	}
	e.write(line)
}

// runFinished is the last event, and closes the file.
func (e *events) runFinished(counts map[string]int, moved int64, code int, err *ErrorItem) {
	if e == nil {
		return
	}
	e.write(&runFinished{
		event: event{Event: "run_finished"}, Items: counts, Bytes: moved, Seconds: seconds(time.Since(e.began)), ExitCode: code, Error: err,
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.w == nil {
		return
	}
	if err := e.w.Close(); err != nil {
		e.warn("--events: %v", err)
	}
	e.w = nil
}

// progress tells of transfers.
func (e *events) progress() provider.Progress {
	if e == nil {
		return provider.Progress{}
	}
	return provider.Progress{
		Begin: e.transferStarted,
		Advance: func(p provider.Package, n int) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if t := e.transfers[key(p)]; t != nil {
				t.bytes += int64(n)
			}
		},
		End: e.transferFinished,
		Retry: func(what string, err error) {
			e.write(&retried{event: event{Event: "retry"}, What: what, Reason: err.Error()})
		},
	}
}

func (e *events) transferStarted(p provider.Package, total int64) {
	e.mu.Lock()
	e.transfers[key(p)] = &transferred{began: time.Now()}
	e.mu.Unlock()
	e.write(&transferStarted{event: event{Event: "transfer_started"}, transferOf: ofPackage(p), Size: max(total, 0)})
}

func (e *events) transferFinished(p provider.Package, err error) {
	e.mu.Lock()
	t := e.transfers[key(p)]
	delete(e.transfers, key(p))
	e.mu.Unlock()
	if t == nil {
		return
	}
	line := &transferFinished{event: event{Event: "transfer_finished"}, transferOf: ofPackage(p), Bytes: t.bytes, Seconds: seconds(time.Since(t.began))}
	if err != nil {
		line.Error = describeError(err)
	}
	e.write(line)
}

// retried tells of a request that is sent again, or of a host that has a pause.
func (e *events) retried(r httpclient.Retry) {
	if e == nil {
		return
	}
	if r.Host != "" {
		e.write(&paused{event: event{Event: "pause"}, Host: r.Host, Reason: r.Cause.Error(), Wait: seconds(r.Wait)})
		return
	}
	line := &retried{
		event: event{Event: "retry"}, What: fmt.Sprintf("%s %s", r.Method, r.URL), Reason: r.Cause.Error(),
		Wait: seconds(r.Wait), Try: r.Attempt + 1, Of: r.Of,
	}
	if u, err := url.Parse(r.URL); err == nil {
		line.Host = u.Host
	}
	e.write(line)
}
