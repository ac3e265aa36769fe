package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/netutil"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/serve"
)

const (
	// metricsTimeout bounds a scrape, from its first byte to its last.
	metricsTimeout = 15 * time.Second
	// maxMetricsConnections is for some Prometheus servers, and whoever looks beside.
	maxMetricsConnections = 16
)

func metricsFlag() cli.Flag {
	return &cli.StringFlag{Name: "metrics-listen", Usage: "answer /metrics for Prometheus, /healthz and /readyz on `ADDRESS`, HOST:PORT or :PORT, by plain HTTP (default: not at all)"}
}

// startMetrics serves the metrics and the probes if --metrics-listen is given. Probes must
// work however many connections clients have open on the other address.
func startMetrics(c *cli.Context, lines *report.ServerLog, s *serve.Server) (end func(), err error) {
	address := c.String("metrics-listen")
	if address == "" {
		return func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", lines.Handler())
	mux.Handle("/healthz", s.Probes())
	mux.Handle("/readyz", s.Probes())
	server := &http.Server{
		Handler: mux, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: 2 * time.Minute,
		// Prometheus leaves connections open between scrapes.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(c.Context) },
	}
	lines.Metrics(l.Addr())
	go func() {
		if err := server.Serve(netutil.LimitListener(l, maxMetricsConnections)); !errors.Is(err, http.ErrServerClosed) {
			lines.Trouble("metrics: " + err.Error())
		}
	}()
	return func() { _ = server.Close() }, nil
}
