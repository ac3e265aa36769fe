package report

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
)

// ServerLog logs and counts what a server does. It writes one line per response to
// stdout and everything else to stderr.
type ServerLog struct {
	answers, rest *slog.Logger
	counted       *metrics.Server
}

// NewServerLog returns the log of a server, which goes where the report goes.
func NewServerLog(out *Report) *ServerLog {
	level := slog.LevelInfo
	if out.Quiet {
		level = slog.LevelWarn
	}
	return &ServerLog{
		answers: newLogger(out.stdout, out.json, slog.LevelInfo), rest: newLogger(out.stderr, out.json, level),
		counted: metrics.New(out.Version),
	}
}

// newLogger writes lines of names and values, or of JSON.
func newLogger(w io.Writer, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: loggedValue}
	if json {
		return slog.New(slog.NewJSONHandler(escaped{w, printableJSON}, options))
	}
	return slog.New(slog.NewTextHandler(escaped{w, Printable}, options))
}

// loggedValue leaves out a value that is empty, writes durations in milliseconds, and errors
// without secrets.
func loggedValue(_ []string, a slog.Attr) slog.Attr {
	switch value := a.Value.Any().(type) {
	case nil:
		return slog.Attr{}
	case string:
		if value == "" {
			return slog.Attr{}
		}
	case error:
		return slog.String(a.Key, httpclient.RedactText(text.Redact(value.Error())))
	case time.Duration:
		return slog.Float64(a.Key, float64(value.Microseconds())/1000)
	}
	return a
}

// escaped keeps text of others from steering what shows it. Handlers write a line at a
// time, and one after the other.
type escaped struct {
	io.Writer
	escape func(string) string
}

func (e escaped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.Writer, e.escape(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Events are logged and counted.
func (l *ServerLog) Events() serve.Events {
	return l.counted.Watch(serve.Events{
		OnRequest: l.answered, OnPull: l.pulled,
		OnOmitted: func(a provider.Address, v provider.Version, why string) {
			l.rest.Warn("left out of the registry protocol", "provider", a.String(), "version", v.String(), "why", why)
		},
	})
}

// answered writes a request and its answer.
func (l *ServerLog) answered(a serve.RequestEvent) {
	line := []any{
		"route", a.Route, "method", a.Method, "path", a.Path, "status", a.Status, "bytes", a.Bytes,
		"ms", a.Duration.Milliseconds(), "client", a.Client, "caller", a.Caller, "repository", a.Repository,
	}
	if a.Age >= time.Second {
		line = append(line, "age", int(a.Age.Seconds()))
	}
	line = append(line, "stale", a.Stale, "error", a.Err)
	l.answers.Info("answered", line...)
}

// pulled writes what became of a release that was to be brought from its origin.
func (l *ServerLog) pulled(e pullthrough.Event) {
	line := []any{"provider", e.Address.String(), "version", e.Version.String(), "repository", e.Repository}
	if e.Verdict.Trust != "" {
		line = append(line, "signature", e.Verdict.String(), "warning", e.Verdict.Warning)
	}
	switch e.Stage {
	case pullthrough.StageStarted:
		l.rest.Info("bringing a release from its origin", line...)
	case pullthrough.StageDone:
		l.rest.Info("brought a release from its origin", append(line, "status", string(e.Status), "bytes", e.Bytes, "ms", e.Duration.Milliseconds())...)
	case pullthrough.StageRefused:
		l.rest.Warn("a release of an origin is refused", append(line, "why", e.Err.Error())...)
	default:
		l.rest.Error("a release could not be brought from its origin", append(line, "error", e.Err.Error(), "ms", e.Duration.Milliseconds())...)
	}
}

// Listening logs the address that the server listens on.
func (l *ServerLog) Listening(at net.Addr, secure bool) {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	l.rest.Info("listening", "url", scheme+"://"+at.String())
}

// Metrics logs the address of the metrics.
func (l *ServerLog) Metrics(at net.Addr) {
	l.rest.Info("answering /metrics", "address", at.String())
}

// Trouble is what clients do wrong below HTTP.
func (l *ServerLog) Trouble(text string) {
	l.rest.Info("a client's connection failed", "why", strings.TrimSpace(text))
}

// Certificate reports that a changed certificate is not used.
func (l *ServerLog) Certificate(err error) {
	l.rest.Warn("the certificate has changed and cannot be read, the older one is used", "error", err.Error())
}

// Reloaded reports that the file of rules has changed.
func (l *ServerLog) Reloaded(err error) {
	l.counted.Reloaded(err)
	if err != nil {
		l.rest.Error("--serve-config has changed and was refused, the previous rules stay in force", "error", err.Error())
		return
	}
	l.rest.Info("--serve-config was reloaded")
}

// Handler answers scrapes of the metrics.
func (l *ServerLog) Handler() http.Handler { return l.counted.Handler() }
