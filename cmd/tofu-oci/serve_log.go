package main

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/metrics"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
)

// serveLog logs and counts what a server does. It writes one line per response to
// stdout and everything else to stderr.
type serveLog struct {
	answers, rest *slog.Logger
	counted       *metrics.Server
}

func newServeLog(out *output) *serveLog {
	level := slog.LevelInfo
	if out.quiet {
		level = slog.LevelWarn
	}
	return &serveLog{
		answers: newLogger(out.stdout, out.json, slog.LevelInfo), rest: newLogger(out.stderr, out.json, level),
		counted: metrics.New(version),
	}
}

// newLogger writes lines of names and values, or of JSON.
func newLogger(w io.Writer, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(escaped{w, printableJSON}, options))
	}
	return slog.New(slog.NewTextHandler(escaped{w, printable}, options))
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

func (l *serveLog) events() serve.Events {
	return l.counted.Watch(serve.Events{
		Answered: l.answered, Pulled: l.pulled,
		LeftOut: func(a provider.Address, v provider.Version, why string) {
			l.rest.Warn("left out of the registry protocol", "provider", a.String(), "version", v.String(), "why", why)
		},
	})
}

// answered writes a request and its answer.
func (l *serveLog) answered(a serve.Answered) {
	line := []any{
		"route", a.Route, "method", a.Method, "path", a.Path, "status", a.Status, "bytes", a.Bytes,
		"ms", a.Duration.Milliseconds(), "client", a.Client,
	}
	for _, optional := range []struct{ name, value string }{{"caller", a.Caller}, {"repository", a.Repository}} {
		if optional.value != "" {
			line = append(line, optional.name, optional.value)
		}
	}
	if a.Age >= time.Second {
		line = append(line, "age", int(a.Age.Seconds()))
	}
	if a.Stale != nil {
		line = append(line, "stale", a.Stale.Error())
	}
	if a.Err != nil {
		line = append(line, "error", a.Err.Error())
	}
	l.answers.Info("answered", line...)
}

// pulled writes what became of a release that was to be brought from its origin.
func (l *serveLog) pulled(e pullthrough.Event) {
	line := []any{"provider", e.Address.String(), "version", e.Version.String()}
	if e.Repository != "" {
		line = append(line, "repository", e.Repository)
	}
	if e.Verdict.Trust != "" {
		line = append(line, "signature", e.Verdict.String())
	}
	if e.Verdict.Warning != "" {
		line = append(line, "warning", e.Verdict.Warning)
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

func (l *serveLog) listening(at net.Addr, secure bool) {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	l.rest.Info("listening", "url", scheme+"://"+at.String())
}

func (l *serveLog) metrics(at net.Addr) {
	l.rest.Info("answering /metrics", "address", at.String())
}

// trouble is what clients do wrong below HTTP.
func (l *serveLog) trouble(text string) {
	l.rest.Info("a client's connection failed", "why", strings.TrimSpace(text))
}

func (l *serveLog) certificate(err error) {
	l.rest.Warn("the certificate has changed and cannot be read, the older one is used", "error", err.Error())
}

// reloaded reports that the file of rules has changed.
func (l *serveLog) reloaded(err error) {
	l.counted.Reloaded(err)
	if err != nil {
		l.rest.Error("--serve-config has changed and was refused, the previous rules stay in force", "error", err.Error())
		return
	}
	l.rest.Info("--serve-config was reloaded")
}
