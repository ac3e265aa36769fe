// Package metrics provides Prometheus metrics for the server.
//
// This program defines all label values, such as routes, statuses, and kinds. Because
// labels never contain input from clients or registries, such as addresses, hosts, or
// tokens, the number of series is limited.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// prefix is the prefix of all metric names.
	prefix = "tofu_oci_serve_"
	// maxScrapes is the maximum number of concurrent scrapes. scrapeTimeout is the
	// maximum duration of a scrape.
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Server contains a server's metrics. It is safe for concurrent use.
type Server struct {
	registry *prometheus.Registry

	requests, refusals, stale, lookups, failures, pulls *prometheus.CounterVec
	archiveBytes, omitted, pulledBytes                  prometheus.Counter
	durations                                           *prometheus.HistogramVec
	rulesCurrent                                        prometheus.Gauge
}

// New returns the metrics for a server with the given program version. They are in a
// separate registry, which also contains the metrics of the process and of Go.
func New(version string) *Server {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	auto := promauto.With(registry)
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	s := &Server{
		registry: registry,
		requests: counters("requests_total", "Requests by route and response status.", "route", "status"),
		refusals: counters("refusals_total", "Rejected requests, by reason.", "reason"),
		stale:    counters("stale_responses_total", "Responses that contain stale data because a repository was unreachable.", "route"),
		lookups:  counters("lookups_total", "Cache lookups by cache and result.", "cache", "result"),
		failures: counters("upstream_errors_total", "Failed requests to repositories, by kind of error.", "kind"),
		pulls:    counters("pulls_total", "Releases pulled from origin registries, by stage.", "stage"),

		pulledBytes:  counter("pulled_bytes_total", "Bytes of archives pulled from origin registries into repositories."),
		archiveBytes: counter("archive_bytes_total", "Bytes of archives sent to clients."),
		omitted:      counter("omitted_releases_total", "Releases omitted from the registry protocol; the log contains the reasons."),
		durations: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "request_duration_seconds", Help: "Time from a request to the end of its response, by route.",
			// Responses from memory take less than a millisecond, but archives can take
			// minutes.
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"route"}),
		rulesCurrent: auto.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "rules_current", Help: "1 if the current rules match the file, 0 if the changed file was rejected.",
		}),
	}
	s.rulesCurrent.Set(1)
	auto.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "build_info", Help: "Always 1; the label contains the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	}).Set(1)
	return s
}

// Watch returns event functions that update the metrics and then call the functions in
// others.
func (s *Server) Watch(others serve.Events) serve.Events {
	watched := others
	watched.OnRequest = func(a serve.RequestEvent) {
		s.onRequest(a)
		if others.OnRequest != nil {
			others.OnRequest(a)
		}
	}
	watched.OnOmitted = func(a provider.Address, v provider.Version, reason string) {
		s.omitted.Inc()
		if others.OnOmitted != nil {
			others.OnOmitted(a, v, reason)
		}
	}
	watched.OnLookup = func(what string, hit bool) {
		result := "miss"
		if hit {
			result = "hit"
		}
		s.lookups.WithLabelValues(what, result).Inc()
		if others.OnLookup != nil {
			others.OnLookup(what, hit)
		}
	}
	watched.OnFailure = func(kind string, err error) {
		s.failures.WithLabelValues(kind).Inc()
		if others.OnFailure != nil {
			others.OnFailure(kind, err)
		}
	}
	watched.OnPull = func(e pullthrough.Event) {
		s.pulls.WithLabelValues(e.Stage).Inc()
		s.pulledBytes.Add(float64(e.Bytes))
		if others.OnPull != nil {
			others.OnPull(e)
		}
	}
	return watched
}

// Reloaded records that the rules file has changed. If err is not nil, the file was
// rejected, and the previous rules are still in force.
func (s *Server) Reloaded(err error) {
	if err != nil {
		s.rulesCurrent.Set(0)
		return
	}
	s.rulesCurrent.Set(1)
}

// archiveRoute is the label value for requests for zips.
const archiveRoute = "archive"

func (s *Server) onRequest(a serve.RequestEvent) {
	s.requests.WithLabelValues(a.Route, strconv.Itoa(a.Status)).Inc()
	s.durations.WithLabelValues(a.Route).Observe(a.Duration.Seconds())
	if a.Refused != "" {
		s.refusals.WithLabelValues(a.Refused).Inc()
	}
	if a.Stale != nil {
		s.stale.WithLabelValues(a.Route).Inc()
	}
	if a.Route == archiveRoute && (a.Status == http.StatusOK || a.Status == http.StatusPartialContent) {
		s.archiveBytes.Add(float64(a.Bytes))
	}
}

// Handler returns a handler that serves GET /metrics and rejects any other request.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		Registry: s.registry, MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout,
	}))
	return mux
}
