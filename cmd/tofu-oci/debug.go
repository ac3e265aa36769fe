package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// debugFlag is that of every command.
func debugFlag() cli.Flag {
	return &cli.BoolFlag{Name: "debug", Usage: "log to stderr each request and its answer, retries, which logins are used and where they are from, and which programs are started; no secret is logged"}
}

// debugLog writes what --debug shows, a line at a time. A nil one writes nothing. None
// of its lines has a login, a token or the query of a URL: what tells it of requests
// has taken them out, and nothing else tells it of values.
type debugLog struct {
	log *slog.Logger
	// to is where its lines go: stderr, until the run has an output that lets them go
	// beside its progress.
	to io.Writer
	// began is when the run did.
	began time.Time
	// told are the lines that are written once.
	told sync.Map
}

// Write writes a line to where they go now.
func (d *debugLog) Write(line []byte) (int, error) { return d.to.Write(line) }

// beside lets lines go elsewhere from now on.
func (d *debugLog) beside(w io.Writer) {
	if d != nil {
		d.to = w
	}
}

// beginDebug writes what the run is, in front of all that it does.
func beginDebug(c *cli.Context) error {
	if !c.Bool("debug") {
		return nil
	}
	b := thisBuild()
	d := &debugLog{to: c.App.ErrWriter, began: time.Now()}
	d.log = newLogger(d, c.String("output") == outputJSON, slog.LevelDebug)
	sharedBy(c.App).debug = d
	d.write("started", "command", wordsOf(c.Command), "version", b.Version, "commit", b.Commit, "go", b.Go, "platform", b.Platform)
	variables := sharedBy(c.App).variables
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		d.write("variable", "name", variables[flag].variable, "flag", "--"+flag)
	}
	return nil
}

// write writes a line: what happened, and names with values; those without a value
// are left out.
func (d *debugLog) write(what string, pairs ...any) {
	if d == nil {
		return
	}
	var line []any
	for i := 0; i+1 < len(pairs); i += 2 {
		switch value := pairs[i+1].(type) {
		case string:
			if value == "" {
				continue
			}
		case error:
			line = append(line, pairs[i], httpclient.RedactText(text.Redact(value.Error())))
			continue
		case nil:
			continue
		case time.Duration:
			line = append(line, pairs[i], float64(value.Microseconds())/1000)
			continue
		}
		line = append(line, pairs[i], pairs[i+1])
	}
	d.log.Debug(what, line...)
}

// ended writes the last line.
func (d *debugLog) ended(code int) {
	if d != nil {
		d.write("ended", "exit_code", code, "ms", time.Since(d.began))
	}
}

// once writes a line that is the same as one before only one time.
func (d *debugLog) once(what string, pairs ...any) {
	if d == nil {
		return
	}
	if _, again := d.told.LoadOrStore(fmt.Sprintf("%s %q", what, pairs), true); !again {
		d.write(what, pairs...)
	}
}

// trace tells of requests; nil where nothing is to be told.
func (d *debugLog) trace() *httpclient.Trace {
	if d == nil {
		return nil
	}
	return &httpclient.Trace{
		Sent: func(s httpclient.Sent) {
			line := []any{"request", s.Number, "method", s.Method, "url", s.URL, "login", s.Login, "proxy", s.Proxy, "range", s.Range}
			if s.Waited >= time.Millisecond {
				line = append(line, "waited_ms", s.Waited)
			}
			if s.Size > 0 {
				line = append(line, "bytes", s.Size)
			}
			if s.Try > 1 {
				line = append(line, "try", s.Try)
			}
			d.write("request", line...)
		},
		Answered: func(a httpclient.Answered) {
			if a.Err != nil {
				d.write("no answer", "request", a.Number, "ms", a.After, "error", a.Err)
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
			d.write("answer", line...)
		},
		Read: func(r httpclient.Read) {
			d.write("body", "request", r.Number, "bytes", r.Bytes, "ms", r.After, "error", r.Err)
		},
	}
}

// retried tells of a try that will be repeated, or of a host that has a pause.
func (d *debugLog) retried(r httpclient.Retry) {
	if r.Host != "" {
		d.write("pause", "host", r.Host, "wait_ms", r.Wait, "why", r.Cause)
		return
	}
	d.write("retry", "method", r.Method, "url", r.URL, "failed", r.Attempt, "of", r.Of, "wait_ms", r.Wait, "why", r.Cause)
}

// programs lets it be told of programs that are run with the context.
func (d *debugLog) programs(ctx context.Context) context.Context {
	if d == nil {
		return ctx
	}
	return extprog.WithTrace(ctx, func(path string) func(error) {
		began := time.Now()
		d.write("program", "path", path)
		return func(err error) {
			d.write("program ended", "path", path, "ms", time.Since(began), "error", err)
		}
	})
}

// login tells where the login for a repository is from.
func (d *debugLog) login(repository, from string, err error) {
	d.once("login", "repository", repository, "from", from, "error", err)
}

// token tells where the token for a host is from.
func (d *debugLog) token(host, from string, err error) {
	d.once("token", "host", host, "from", from, "error", err)
}

// configuration tells which files the CLI configuration is read from.
func (d *debugLog) configuration(files cliconfig.Files) {
	for _, path := range files.Chosen() {
		d.write("CLI configuration", "file", path)
	}
}
