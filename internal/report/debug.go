package report

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

// Debug writes what --debug shows, a line at a time. A nil one writes nothing. None
// of its lines has a login, a token or the query of a URL: what tells it of requests
// has taken them out, and nothing else tells it of values.
type Debug struct {
	log *slog.Logger
	// to is where its lines go: stderr, until the run has an output that lets them go
	// beside its progress.
	to io.Writer
	// began is when the run did.
	began time.Time
	// told are the lines that are written once.
	told sync.Map
}

// NewDebug writes lines to w, or JSON.
func NewDebug(w io.Writer, json bool) *Debug {
	d := &Debug{to: w, began: time.Now()}
	d.log = newLogger(d, json, slog.LevelDebug)
	return d
}

// Write writes a line to where they go now.
func (d *Debug) Write(line []byte) (int, error) { return d.to.Write(line) }

// beside lets lines go elsewhere from now on.
func (d *Debug) beside(w io.Writer) {
	if d != nil {
		d.to = w
	}
}

// Log writes a line: what happened, and names with values; those without a value
// are left out.
func (d *Debug) Log(what string, pairs ...any) {
	if d == nil {
		return
	}
	d.log.Debug(what, pairs...)
}

// Ended writes the last line.
func (d *Debug) Ended(code int) {
	if d != nil {
		d.Log("ended", "exit_code", code, "ms", time.Since(d.began))
	}
}

// Once writes a line unless it has written the same before.
func (d *Debug) Once(what string, pairs ...any) {
	if d == nil {
		return
	}
	if _, again := d.told.LoadOrStore(fmt.Sprintf("%s %q", what, pairs), true); !again {
		d.Log(what, pairs...)
	}
}

// Trace tells of requests; nil where nothing is to be told.
func (d *Debug) Trace() *httpclient.Trace {
	if d == nil {
		return nil
	}
	return &httpclient.Trace{
		OnRequest: func(s httpclient.RequestEvent) {
			line := []any{"request", s.Number, "method", s.Method, "url", s.URL, "login", s.Scheme, "proxy", s.Proxy, "range", s.Range}
			if s.Waited >= time.Millisecond {
				line = append(line, "waited_ms", s.Waited)
			}
			if s.Size > 0 {
				line = append(line, "bytes", s.Size)
			}
			if s.Try > 1 {
				line = append(line, "try", s.Try)
			}
			d.Log("request", line...)
		},
		OnResponse: func(a httpclient.ResponseEvent) {
			if a.Err != nil {
				d.Log("no answer", "request", a.Number, "ms", a.After, "error", a.Err)
				return
			}
			line := []any{
				"request", a.Number, "status", a.Status, "ms", a.After, "protocol", a.Protocol, "type", a.Type,
				"location", a.Location, "challenge", a.Challenge,
			}
			if a.RetryAfter > 0 {
				line = append(line, "retry_after_ms", a.RetryAfter)
			}
			if a.Size >= 0 {
				line = append(line, "bytes", a.Size)
			}
			d.Log("answer", line...)
		},
		OnBody: func(r httpclient.BodyEvent) {
			d.Log("body", "request", r.Number, "bytes", r.Bytes, "ms", r.After, "error", r.Err)
		},
	}
}

// retried tells of a try that will be repeated, or of a host that has a pause.
func (d *Debug) retried(r httpclient.Retry) {
	if r.Host != "" {
		d.Log("pause", "host", r.Host, "wait_ms", r.Wait, "why", r.Cause)
		return
	}
	d.Log("retry", "method", r.Method, "url", r.URL, "failed", r.Attempt, "of", r.Of, "wait_ms", r.Wait, "why", r.Cause)
}

// Programs lets it be told of programs that are run with the context.
func (d *Debug) Programs(ctx context.Context) context.Context {
	if d == nil {
		return ctx
	}
	return extprog.WithTrace(ctx, func(path string) func(error) {
		began := time.Now()
		d.Log("program", "path", path)
		return func(err error) {
			d.Log("program ended", "path", path, "ms", time.Since(began), "error", err)
		}
	})
}

// Configuration tells which files the CLI configuration is read from.
func (d *Debug) Configuration(files cliconfig.Files) {
	for _, path := range files.Chosen() {
		d.Log("CLI configuration", "file", path)
	}
}
