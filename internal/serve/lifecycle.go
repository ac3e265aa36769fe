package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxHeader limits the size of a request header in bytes. A token is a few kilobytes
	// long.
	maxHeader = 64 << 10
	// maxStreams limits the number of concurrent requests on an HTTP/2 connection.
	maxStreams = 100
	// DefaultMaxConnections is several times the number of connections that an office
	// or a fleet of runners typically opens. That many connections use about 180 MB of
	// memory.
	DefaultMaxConnections = 4096
	// defaultShareQuarters is the default for MaxPerAddress, in quarters of
	// MaxConnections. It is high, because many clients can share the address of a NAT
	// gateway.
	defaultShareQuarters = 3
	// DefaultGrace is long enough for most downloads to complete.
	DefaultGrace = 25 * time.Second
)

// ListenOptions configures how a server listens and shuts down. Fields that are zero
// use their defaults.
type ListenOptions struct {
	// TLS configures TLS. If nil, the server uses plain HTTP, for example behind a
	// proxy on the same machine.
	TLS *tls.Config
	// InsecureHTTP allows plain HTTP on addresses that other machines can reach. The caller
	// is then responsible for protecting the connection.
	InsecureHTTP bool
	// MaxConnections limits the number of open connections and the number of concurrent
	// requests. Additional connections wait.
	MaxConnections int
	// MaxPerAddress limits the number of open connections from one address, or from one
	// IPv6 /64 network. The server closes additional connections. If zero, the limit is
	// three quarters of MaxConnections. The same share applies to requests and to the
	// memory for responses. Trusted proxies are exempt.
	MaxPerAddress int
	// OnListen, if not nil, is called before the first connection is accepted.
	OnListen func(net.Addr)
	// Grace is how long requests in progress can continue after shutdown starts.
	Grace time.Duration
	// OnConnectionError, if not nil, is called for errors below HTTP, such as a failed TLS
	// handshake.
	OnConnectionError func(text string)
}

// ErrInsecure is returned for plain HTTP on an address that other machines can reach.
// Such addresses require TLS, because clients send tokens.
var ErrInsecure = provider.Errorf(provider.Misuse, "plain HTTP is allowed only on loopback addresses")

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback() // other networks, such as Unix sockets, are local
}

// complete returns the options with defaults.
func (options ListenOptions) complete() ListenOptions {
	if options.MaxConnections <= 0 {
		options.MaxConnections = DefaultMaxConnections
	}
	if options.MaxPerAddress <= 0 {
		options.MaxPerAddress = max(options.MaxConnections*defaultShareQuarters/4, 1)
	}
	options.MaxPerAddress = min(options.MaxPerAddress, options.MaxConnections)
	if options.Grace <= 0 {
		options.Grace = DefaultGrace
	}
	if options.OnConnectionError == nil {
		options.OnConnectionError = func(string) {}
	}
	return options
}

// Run serves requests on a listener until ctx is canceled. It then waits at most Grace
// for requests in progress. Run always closes the listener. If the cancellation of ctx
// stopped the server, Run returns nil.
func (s *Server) Run(ctx context.Context, l net.Listener, options ListenOptions) error {
	if options.TLS == nil && !options.InsecureHTTP && !isLoopback(l.Addr()) {
		_ = l.Close()
		return fmt.Errorf("serving on %s: %w", l.Addr(), ErrInsecure)
	}
	options = options.complete()
	s.setLimits(options)
	timeouts := s.options.timeouts
	server := &http.Server{
		Handler: s, TLSConfig: options.TLS,
		// A ReadTimeout would cancel the context of long responses. Request bodies have
		// a separate deadline.
		ReadHeaderTimeout: timeouts.header, IdleTimeout: timeouts.idle,
		// The deadline is extended with each write.
		WriteTimeout:   timeouts.write,
		MaxHeaderBytes: maxHeader,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       log.New(lineWriter(options.OnConnectionError), "", 0), //nolint:forbidigo // http.Server accepts only a *log.Logger
	}
	if options.OnListen != nil {
		options.OnListen(l.Addr())
	}
	l = &listener{netutil.LimitListener(l, options.MaxConnections), s, newQuota(int64(options.MaxConnections), options), options}
	served := make(chan error, 1)
	go func() {
		if options.TLS != nil {
			served <- server.ServeTLS(l, "", "")
			return
		}
		served <- server.Serve(l)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.shutDown(ctx, server, options.Grace)
}

// shutDown shuts down the server and waits for requests in progress.
func (s *Server) shutDown(ctx context.Context, server *http.Server, grace time.Duration) error {
	s.draining.Store(true)
	shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	defer s.Close() // until the server is closed, downloads can read a release that is being pulled
	err := server.Shutdown(shutdownCtx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("shutting down the server: %w", err)
	}
	return nil
}

// lineWriter is an [io.Writer] that calls a function with each line of the log.
type lineWriter func(line string)

func (w lineWriter) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// TLSConfig returns a TLS configuration with a certificate chain and its key from PEM
// files. The files are reloaded when they change. If reloading fails, the previous
// certificate remains in use. In this case, failed is called if it is not nil.
func TLSConfig(certFile, keyFile string, failed func(error)) (*tls.Config, error) {
	parse := func(contents [][]byte) (*tls.Certificate, error) {
		read, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("parsing the certificate %s and the key %s: %w", certFile, keyFile, err)
		}
		return &read, nil
	}
	certificate, err := access.Watch(parse, func(err error) {
		if err != nil && failed != nil {
			failed(err)
		}
	}, certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
	}, nil
}
