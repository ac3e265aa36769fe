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

// Debug writes the --debug log. If a Debug is nil, its methods do nothing. The log
// contains no credentials, tokens, or URL queries, because httpclient removes them from
// the requests that it reports.
type Debug struct {
	log *slog.Logger
	// to is stderr, or a writer that doesn't interfere with the progress display.
	to      io.Writer
	started time.Time
	// logged contains the lines that Once has written.
	logged sync.Map
}

// NewDebug returns a Debug that writes text or JSON to w.
func NewDebug(w io.Writer, json bool) *Debug {
	d := &Debug{to: w, started: time.Now()}
	d.log = newLogger(d, json, slog.LevelDebug)
	return d
}

// Write writes a line to the current output.
func (d *Debug) Write(line []byte) (int, error) { return d.to.Write(line) }

// setOutput changes the output.
func (d *Debug) setOutput(w io.Writer) {
	if d != nil {
		d.to = w
	}
}

// Log writes a line with a message and pairs of names and values. Pairs with an empty
// value are omitted.
func (d *Debug) Log(what string, pairs ...any) {
	if d == nil {
		return
	}
	d.log.Debug(what, pairs...)
}

// Ended writes the last line.
func (d *Debug) Ended(code int) {
	if d != nil {
		d.Log("ended", "exit_code", code, "ms", time.Since(d.started))
	}
}

// Once writes a line unless it has already written the same line.
func (d *Debug) Once(what string, pairs ...any) {
	if d == nil {
		return
	}
	if _, again := d.logged.LoadOrStore(fmt.Sprintf("%s %q", what, pairs), true); !again {
		d.Log(what, pairs...)
	}
}

// Trace returns a trace that logs requests, or nil if d is nil.
func (d *Debug) Trace() *httpclient.Trace {
	if d == nil {
		return nil
	}
	return &httpclient.Trace{
		OnRequest: func(s httpclient.RequestEvent) {
			d.Log("request", "request", s.Number, "method", s.Method, "url", s.URL, "login", s.Scheme, "proxy", s.Proxy, "range", s.Range,
				"waited_ms", onlyIf(s.Waited >= time.Millisecond, s.Waited), "bytes", onlyIf(s.Size > 0, s.Size), "try", onlyIf(s.Try > 1, s.Try))
		},
		OnResponse: func(a httpclient.ResponseEvent) {
			if a.Err != nil {
				d.Log("no response", "request", a.Number, "ms", a.After, "error", a.Err)
				return
			}
			d.Log("response", "request", a.Number, "status", a.Status, "ms", a.After, "protocol", a.Protocol, "type", a.Type,
				"location", a.Location, "challenge", a.Challenge, "retry_after_ms", onlyIf(a.RetryAfter > 0, a.RetryAfter), "bytes", onlyIf(a.Size >= 0, a.Size))
		},
		OnBody: func(r httpclient.BodyEvent) {
			d.Log("body", "request", r.Number, "bytes", r.Bytes, "ms", r.After, "error", r.Err)
		},
	}
}

// retried logs a retry, or a pause in the requests to a host.
func (d *Debug) retried(r httpclient.Retry) {
	if r.Host != "" {
		d.Log("pause", "host", r.Host, "wait_ms", r.Wait, "reason", r.Cause)
		return
	}
	d.Log("retry", "method", r.Method, "url", r.URL, "failed", r.Attempt, "of", r.Of, "wait_ms", r.Wait, "reason", r.Cause)
}

// Programs returns a context that logs the programs that are run with it.
func (d *Debug) Programs(ctx context.Context) context.Context {
	if d == nil {
		return ctx
	}
	return extprog.WithTrace(ctx, func(path string) func(error) {
		started := time.Now()
		d.Log("program", "path", path)
		return func(err error) {
			d.Log("program ended", "path", path, "ms", time.Since(started), "error", err)
		}
	})
}

// Configuration logs the files of the CLI configuration.
func (d *Debug) Configuration(files cliconfig.Files) {
	for _, path := range files.Chosen() {
		d.Log("CLI configuration", "file", path)
	}
}
