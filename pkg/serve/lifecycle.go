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
	// readHeaderTimeout is how long a client may take to say what it wants.
	readHeaderTimeout = 10 * time.Second
	// idleTimeout is how long a connection stays open without a request. Proxies in
	// front keep theirs for 60 seconds, and have to be the first to close.
	idleTimeout = 90 * time.Second
	// maxHeader bounds the header of a request, in bytes: tokens have a few kilobytes.
	maxHeader = 64 << 10
	// maxStreams bounds the requests at once on one connection of HTTP/2.
	maxStreams = 100
	// DefaultMaxConnections is several times what an office or a fleet of runners has
	// open, and takes up to some 180 MB: a thousand took 44.
	DefaultMaxConnections = 4096
	// quarters is the default of MaxPerAddress in quarters of MaxConnections. Many clients
	// can share the address of a NAT gateway.
	defaultShareQuarters = 3
	// DefaultGrace lets most downloads end before the server does.
	DefaultGrace = 25 * time.Second
)

// Life is how a server listens, and how it ends. Zero values are the defaults.
type ListenOptions struct {
	// TLS is spoken on the listener; nil is plain HTTP, which is for proxies on the same
	// machine.
	TLS *tls.Config
	// InsecureHTTP lets plain HTTP be spoken with other machines: what protects the way
	// to them is somebody else's matter.
	InsecureHTTP bool
	// MaxConnections limits the open connections; others wait. It also limits the
	// concurrent requests.
	MaxConnections int
	// MaxPerAddress limits the open connections from one address, or from one IPv6 /64
	// network; others are closed. If zero, it is three quarters of MaxConnections. The same
	// share applies to requests and to the memory for responses. Trusted proxies are not
	// limited.
	MaxPerAddress int
	// Listening is called before the first connection is accepted. May be nil.
	OnListen func(net.Addr)
	// Grace is how long requests that are under way may go on when the server ends.
	Grace time.Duration
	// Trouble is told what clients do wrong below HTTP, such as a TLS handshake that
	// breaks off. May be nil.
	OnConnectionError func(text string)
}

// ErrInsecure refuses plain HTTP on an address that other machines reach: clients send
// their tokens, and want TLS.
var ErrInsecure = provider.Errorf(provider.Misuse, "plain HTTP is for loopback addresses only")

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback() // others are sockets of this machine
}

// complete returns the settings with their defaults.
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

// Run answers on a listener until the context ends, and then lets what is under way
// come to its end. It closes the listener. The error is nil when the server ended
// because it was to.
func (s *Server) Run(ctx context.Context, l net.Listener, options ListenOptions) error {
	if options.TLS == nil && !options.InsecureHTTP && !isLoopback(l.Addr()) {
		_ = l.Close()
		return fmt.Errorf("serving on %s: %w", l.Addr(), ErrInsecure)
	}
	options = options.complete()
	s.setLimits(options)
	server := &http.Server{
		Handler: s, TLSConfig: options.TLS,
		// A ReadTimeout would end the context of long answers; bodies of requests have
		// a deadline of their own.
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		// Each piece of an answer renews it.
		WriteTimeout:   writeTimeout,
		MaxHeaderBytes: maxHeader,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       log.New(troubleWriter(options.OnConnectionError), "", 0), //nolint:forbidigo // the only way to be told
	}
	if options.OnListen != nil {
		options.OnListen(l.Addr())
	}
	l = &listener{netutil.LimitListener(l, options.MaxConnections), s, newQuota(int64(options.MaxConnections), options), options}
	ended := make(chan error, 1)
	go func() {
		if options.TLS != nil {
			ended <- server.ServeTLS(l, "", "")
			return
		}
		ended <- server.Serve(l)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.end(ctx, server, options.Grace)
}

// end lets requests come to their end, for a time.
func (s *Server) end(ctx context.Context, server *http.Server, grace time.Duration) error {
	s.draining.Store(true)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	defer s.Close() // downloads may follow releases that are brought here until then
	err := server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("ending the server: %w", err)
	}
	return nil
}

// troubleWriter is an [io.Writer] that calls a function with each line of a log.
type troubleWriter func(line string)

func (w troubleWriter) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// TLSConfig returns a configuration with a certificate, its chain and its key from files in
// PEM form. The files are read again when they change. failed is called if they can't be
// used then, and the older certificate stays in use; it may be nil.
func TLSConfig(certFile, keyFile string, failed func(error)) (*tls.Config, error) {
	parse := func(contents [][]byte) (*tls.Certificate, error) {
		read, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("reading the certificate %s with the key %s: %w", certFile, keyFile, err)
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
