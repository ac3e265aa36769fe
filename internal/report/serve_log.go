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
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ServerLog logs and counts a server's activities. It writes one line per response to
// stdout, and everything else to stderr.
type ServerLog struct {
	access, rest *slog.Logger
	counted      *metrics.Server
}

// NewServerLog returns a log that writes to the report's outputs.
func NewServerLog(out *Report) *ServerLog {
	level := slog.LevelInfo
	if out.Quiet {
		level = slog.LevelWarn
	}
	return &ServerLog{
		access: newLogger(out.stdout, out.json, slog.LevelInfo), rest: newLogger(out.stderr, out.json, level),
		counted: metrics.New(out.Version),
	}
}

// newLogger returns a logger that writes text or JSON.
func newLogger(w io.Writer, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: loggedValue}
	if json {
		return slog.New(slog.NewJSONHandler(escaped{w, text.PrintableJSON}, options))
	}
	return slog.New(slog.NewTextHandler(escaped{w, Printable}, options))
}

// onlyIf returns value, or nil if logged is false. Nil is omitted from the log.
func onlyIf(logged bool, value any) any {
	if !logged {
		return nil
	}
	return value
}

// loggedValue omits empty values, formats durations in milliseconds, and removes
// secrets from errors.
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

// escaped makes untrusted text safe for terminals and CI runners. Each call to Write
// writes one line.
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

// Events returns callbacks that log and count events.
func (l *ServerLog) Events() serve.Events {
	return l.counted.Watch(serve.Events{
		OnRequest: l.onRequest, OnPull: l.pulled,
		OnOmitted: func(a provider.Address, v provider.Version, why string) {
			l.rest.Warn("omitted from the registry protocol", "provider", a.String(), "version", v.String(), "reason", why)
		},
	})
}

// onRequest logs a request and its response.
func (l *ServerLog) onRequest(a serve.RequestEvent) {
	l.access.Info("served", "route", a.Route, "method", a.Method, "path", a.Path, "status", a.Status, "bytes", a.Bytes,
		"ms", a.Duration.Milliseconds(), "client", a.Client, "caller", a.Caller, "repository", a.Repository,
		"age", onlyIf(a.Age >= time.Second, int(a.Age.Seconds())), "stale", a.Stale, "error", a.Err)
}

// pulled logs the steps of mirroring a release on request.
func (l *ServerLog) pulled(e pullthrough.Event) {
	line := []any{"provider", e.Address.String(), "version", e.Version.String(), "repository", e.Repository}
	if e.Verdict.Trust != "" {
		line = append(line, "signature", e.Verdict.String(), "warning", e.Verdict.Warning)
	}
	switch e.Stage {
	case pullthrough.StageStarted:
		l.rest.Info("mirroring a release from its origin registry", line...)
	case pullthrough.StageDone:
		l.rest.Info("mirrored a release from its origin registry", append(line, "status", string(e.Status), "bytes", e.Bytes, "ms", e.Duration.Milliseconds())...)
	case pullthrough.StageRefused:
		l.rest.Warn("rejected a release from its origin registry", append(line, "reason", e.Err.Error())...)
	default:
		l.rest.Error("mirroring a release from its origin registry failed", append(line, "error", e.Err.Error(), "ms", e.Duration.Milliseconds())...)
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

// Metrics logs the address at which metrics are served.
func (l *ServerLog) Metrics(at net.Addr) {
	l.rest.Info("serving /metrics", "address", at.String())
}

// Trouble logs an error on a client's connection.
func (l *ServerLog) Trouble(text string) {
	l.rest.Info("client connection failed", "reason", strings.TrimSpace(text))
}

// Certificate logs that the changed certificate could not be read.
func (l *ServerLog) Certificate(err error) {
	l.rest.Warn("reading the changed certificate failed; the previous certificate is still used", "error", err.Error())
}

// Reloaded logs that the changed rules file was reloaded or, if err is not nil, that
// reloading failed.
func (l *ServerLog) Reloaded(err error) {
	l.counted.Reloaded(err)
	if err != nil {
		l.rest.Error("reloading --serve-config failed; the previous rules still apply", "error", err.Error())
		return
	}
	l.rest.Info("reloaded --serve-config")
}

// Handler returns the HTTP handler for metrics.
func (l *ServerLog) Handler() http.Handler { return l.counted.Handler() }
