package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Server is an [http.Handler] that serves providers and modules. It is safe for
// concurrent use.
type Server struct {
	options Options
	repos   *repositoryCache
	mux     *http.ServeMux
	// origins is nil if pull-through is disabled.
	origins *origins
	// anyHost contains the sets for paths with a host, such as those of network mirrors.
	// own contains the sets for paths without a host. hosts contains the sets of the
	// hosts in the access rules.
	anyHost, own providerSets
	hosts        sync.Map // maps access.Host to sets
	// hashed contains the digests of files that were recently read and verified in full.
	hashed memo.Memo[digest.Digest, struct{}]
	// owned contains the zips that are known to exist in their repositories.
	owned memo.Memo[contentKey, struct{}]
	// downloads shares downloads between clients.
	downloads *downloads
	// requests limits concurrent requests. memory limits response buffers.
	requests, memory *quota
	// draining is set when the server starts shutting down.
	draining atomic.Bool
}

// New returns a server without sending any requests.
func New(o Options) (*Server, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	s := &Server{
		options: o, repos: newRepositoryCache(o), mux: newMux(), downloads: newDownloads(o),
		hashed:  memo.Memo[digest.Digest, struct{}]{Size: o.Memory / 32, SizeOf: func(struct{}) int64 { return entryCost }, Lifetime: hashAge, Now: o.Now},
		owned:   memo.Memo[contentKey, struct{}]{Size: o.Memory / 32, SizeOf: func(struct{}) int64 { return entryCost }},
		anyHost: providerSets{newProviderSet(o.From, "", o.Aliases), newProviderSet(o.ModulesFrom, "", nil)},
		own:     providerSets{newProviderSet(o.From, provider.DefaultHost, nil), newProviderSet(o.ModulesFrom, provider.DefaultHost, nil)},
	}
	s.setLimits(ListenOptions{}.complete())
	if s.origins, err = newOrigins(o, s.repos); err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	return s, nil
}

// Close cancels all downloads. [Server.Run] closes the server before it returns.
func (s *Server) Close() {
	s.downloads.close()
	if s.origins != nil {
		s.origins.puller.Close()
	}
}

// setLimits sets the total limits and the limits per client.
func (s *Server) setLimits(options ListenOptions) {
	s.requests, s.memory = newQuota(int64(options.MaxConnections), options), newQuota(bodyMemory, options)
}

// ServeHTTP responds to a request and reports it to [Events]. If a client exceeds its
// limit on concurrent requests, ServeHTTP responds with 503. The limit on connections
// is not sufficient, because an HTTP/2 connection can carry many requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.exchange(w, r)
	release, ok := s.requests.take(x.client, 1)
	if !ok {
		x.rejectBusy()
		s.finish(x, s.options.Now())
		return
	}
	defer release()
	s.respond(x) //nolint:contextcheck // the exchange contains the request and its context
	if r.ProtoMajor > 1 {
		_ = x.control.Flush() // otherwise, net/http would send the rest after the request stops counting toward the limit
	}
}

// Probes returns a handler that serves the same requests as the server but doesn't
// limit concurrent requests. Use it for a listener that clients can't reach.
func (s *Server) Probes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.respond(s.exchange(w, r)) //nolint:contextcheck // the exchange contains the request and its context
	})
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) *exchange {
	client := s.client(r)
	x := &exchange{writer: &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: s.options.timeouts.write, memory: s.memory, client: s.network(client)}, r: r}
	x.event = RequestEvent{Route: routeUnknown, Method: r.Method, Path: "?", Client: client}
	return x
}

// respond calls the handler of a request and reports the response.
func (s *Server) respond(x *exchange) {
	start := s.options.Now()
	defer func() {
		recovered := recover()
		if recovered != nil && recovered != http.ErrAbortHandler { //nolint:errorlint // ErrAbortHandler is never wrapped
			x.event.Err = fmt.Errorf("internal error: %v", recovered)
			if !x.sent {
				x.fail(&problem{http.StatusInternalServerError, "internal server error"})
				recovered = nil
			}
		}
		s.finish(x, start)
		if recovered != nil {
			panic(http.ErrAbortHandler) // closes the connection so that the client detects the truncated response
		}
	}()
	if err := s.serve(x); err != nil {
		x.fail(err)
	}
}

// finish completes a response and reports it.
func (s *Server) finish(x *exchange, start time.Time) {
	x.finish()
	x.event.Status, x.event.Bytes = x.status, x.bytes
	x.event.Duration = s.options.Now().Sub(start)
	s.options.Events.onRequest(x.event)
}

// serve finds the route of a request, authorizes the caller, and calls the handler.
func (s *Server) serve(x *exchange) error {
	h := x.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if x.r.ContentLength != 0 {
		// The server never reads request bodies, and a slow body must not keep the
		// connection open.
		h.Set("Connection", "close")
		_ = x.control.SetReadDeadline(time.Now().Add(s.options.timeouts.body))
	}
	showErrorPage := func(status int, text string) { s.writePage(x, status, text) }
	elements, err := s.pathElements(x.r.URL)
	if err != nil {
		if prefersHTML(x.r) {
			x.showError = showErrorPage
		}
		return err
	}
	s.find(x, elements)
	x.api = len(elements) > 0 && elements[0] == "api"
	if isPagePath(elements) || x.route.name == routeUnknown && !x.api && prefersHTML(x.r) {
		x.showError = showErrorPage
	}
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		return &problem{http.StatusMethodNotAllowed, "only GET and HEAD are supported"}
	}
	if x.route.authorize != nil {
		if err := x.route.authorize(s, x); err != nil {
			return err
		}
	}
	return x.route.serve(s, x)
}

// errUnknownPath is the response to requests with an unknown path.
var errUnknownPath = &problem{http.StatusNotFound, "unknown path; for the supported paths, see docs/serve.md"}

func (s *Server) unknown(*exchange) error { return errUnknownPath }

// health reports that the process is running.
func (s *Server) health(x *exchange) error {
	x.writeBytes(http.StatusOK, "application/json", []byte(`{"status":"ok"}`+"\n"))
	return nil
}

// ready responds with 200 if the server is not shutting down and can serve data. The
// server can serve data if its repositories are reachable or if data is cached.
func (s *Server) ready(x *exchange) error {
	if s.draining.Load() {
		return &problem{http.StatusServiceUnavailable, "the server is shutting down"}
	}
	unreachable, err := s.repos.ready(x.r.Context())
	err = cmp.Or(err, unreachable)
	switch {
	case err == nil:
		return s.health(x)
	case s.repos.listings.hasValue():
		x.setCacheHeaders(cacheState{stale: err})
		x.writeBytes(http.StatusOK, "application/json", []byte(`{"status":"stale"}`+"\n"))
		return nil
	}
	x.event.Err = err
	return errors.Join(&problem{http.StatusServiceUnavailable, "the repositories are unreachable; see the server log for details"}, err)
}
