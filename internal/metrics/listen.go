package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// timeout limits the duration of a scrape.
	timeout = 15 * time.Second
	// maxConnections is sufficient for several Prometheus servers and manual
	// requests.
	maxConnections = 16
)

// Listen serves metrics and probes until the returned function is called. onError
// receives the error if serving fails.
func Listen(ctx context.Context, l net.Listener, metrics, probes http.Handler, onError func(error)) (closeServer func()) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.Handle("/healthz", probes)
	mux.Handle("/readyz", probes)
	server := &http.Server{
		Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: 2 * time.Minute,
		// Prometheus keeps connections open between scrapes.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	go func() {
		if err := server.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			onError(err)
		}
	}()
	return func() { _ = server.Close() }
}
