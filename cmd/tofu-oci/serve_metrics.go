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
	// metricsTimeout limits the duration of a scrape.
	metricsTimeout = 15 * time.Second
	// maxMetricsConnections is sufficient for several Prometheus servers and manual
	// requests.
	maxMetricsConnections = 16
)

// startMetrics serves the metrics and probes if --metrics-listen is set. Probes use this
// address, because they must work regardless of the number of connections to the main address.
func startMetrics(c *cli.Context, log *report.ServerLog, s *serve.Server) (closeServer func(), err error) {
	address := c.String("metrics-listen")
	if address == "" {
		return func() {}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", log.Handler())
	mux.Handle("/healthz", s.Probes())
	mux.Handle("/readyz", s.Probes())
	server := &http.Server{
		Handler: mux, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: 2 * time.Minute,
		// Prometheus keeps connections open between scrapes.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(c.Context) },
	}
	log.Metrics(l.Addr())
	go func() {
		if err := server.Serve(netutil.LimitListener(l, maxMetricsConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Trouble("metrics: " + err.Error())
		}
	}()
	return func() { _ = server.Close() }, nil
}
