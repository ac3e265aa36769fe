// Package httpclient creates the HTTP client for origin registries and OCI registries.
// The client aborts requests that make no progress, retries temporary failures, and sends
// credentials only to the intended host.
package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
)

const (
	// DefaultTimeout is the maximum time without traffic on a connection. Slow
	// registries need tens of seconds to store a large upload before they respond.
	DefaultTimeout = 60 * time.Second
	// MaxTries is the maximum number of attempts for a request, including the first.
	MaxTries = 3
	// minHandshake is the minimum time limit for a TLS handshake.
	minHandshake = 15 * time.Second
	// defaultUserAgent identifies the program to operators of registries.
	defaultUserAgent = "tofu-oci"
)

// Options configures a client. The zero value is ready to use.
type Options struct {
	// Timeout is the maximum time without traffic on a connection. A response must also
	// start within this time, and then transfer at least 100 bytes per second. If
	// Timeout is 0, [DefaultTimeout] is used. The total duration of a transfer is not
	// limited.
	Timeout time.Duration
	// CAFile is the path of a PEM file. Its certificates are trusted in addition to the
	// system's certificates.
	CAFile string
	// ClientCertificate is a client certificate for OCI registries, or nil. See
	// [ToRegistry].
	ClientCertificate *tls.Certificate
	// RegistryCertDirs lists directories that contain a directory of certificates for each
	// OCI registry. See [ToRegistry].
	RegistryCertDirs []string
	// UserAgent is the default User-Agent of requests. If empty, "tofu-oci" is used.
	UserAgent string
	// FirstWait is the pause before the second attempt. The pause doubles for each
	// subsequent attempt. If it is 0, [DefaultFirstWait] is used.
	FirstWait time.Duration
	// Dial opens connections. If nil, the system's network is used. Tests set Dial to
	// use simulated networks.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OnRetry, if not nil, is called before each retry. It can be called concurrently.
	OnRetry func(Retry)
	// Trace, if not nil, observes all traffic.
	Trace *Trace
}

// Retry describes a failed attempt that the client repeats.
type Retry struct {
	Method string
	// URL has neither a query nor user information.
	URL string
	// Attempt is the number of attempts so far. Of is the maximum number of attempts.
	Attempt, Of int
	// Wait is the pause before the next attempt.
	Wait time.Duration
	// Cause is the error from the failed attempt.
	Cause error
	// Host is set if all requests to the host wait. In this case, concurrent requests
	// that fail in the same way are reported only once.
	Host string
}

// New creates a client. The client uses the environment's proxies, follows redirects
// without forwarding credentials to other hosts, and makes up to [MaxTries] attempts
// for each request. All requests of a client share one pool, so a run should use only
// one client. If the CA file is unusable, New returns an error.
func New(o Options) (*http.Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.FirstWait <= 0 {
		o.FirstWait = DefaultFirstWait
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeout}).DialContext
	}
	opened, err := newConnections(o)
	if err != nil {
		return nil, err
	}
	var wire transport = &steady{opened, o.Timeout + afterIdle}
	if o.Trace != nil {
		wire = &tracer{transport: wire, trace: *o.Trace}
	}
	return &http.Client{
		Transport:     &retrier{limited: limited{wire, schedule.NewRequests()}, options: o},
		CheckRedirect: checkRedirect,
	}, nil
}

// transport sends requests. Package http has no interface that includes both methods.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// transports contains two transports: shared for shared connections, and dedicated for
// [WithDedicatedConnection] and large uploads. On a shared HTTP/2 connection, all
// uploads together can have only about a megabyte in transit, so they are slow over
// long distances.
type transports struct {
	shared, dedicated *http.Transport
	// hasCertificate reports whether the transports have a client certificate.
	hasCertificate bool
}

func newTransports(o Options, config *tls.Config) transports {
	t := transports{shared: newTransport(o, config), dedicated: newTransport(o, config)}
	t.dedicated.Protocols = new(http.Protocols)
	t.dedicated.Protocols.SetHTTP1(true)
	return t
}

func (t transports) of(req *http.Request) *http.Transport {
	if hasDedicatedConnection(req.Context()) || isLargeUpload(req) {
		return t.dedicated
	}
	return t.shared
}

func (t transports) closeIdleConnections() {
	t.shared.CloseIdleConnections()
	t.dedicated.CloseIdleConnections()
}

func newTransport(o Options, config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: checkProxy,
		DialContext:            idleDialer(o.Dial, o.Timeout),
		// By default, a custom dialer or TLS configuration disables HTTP/2. HTTP/2
		// pings are disabled, because they would keep a connection alive even if its
		// transfer hangs.
		ForceAttemptHTTP2:     true,
		TLSClientConfig:       config.Clone(), // net/http changes it
		TLSHandshakeTimeout:   max(o.Timeout/4, minHandshake),
		ExpectContinueTimeout: time.Second,
		ResponseHeaderTimeout: o.Timeout + afterIdle, // limits servers that send a byte at a time
		// With a lower limit, connections would be closed and reopened repeatedly.
		MaxIdleConnsPerHost: schedule.MaxRequestsToHost,
		// Idle connections are closed well before the idle deadline. Otherwise, a
		// request could be sent on a connection that is about to be closed.
		IdleConnTimeout: o.Timeout / 2,
	}
}

// rootsWith returns the system's certificates and the certificates in PEM files. If no
// files are specified, it returns nil, which selects the system's certificates.
func rootsWith(files ...string) (*x509.CertPool, error) {
	if len(files) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("loading the system's CA certificates: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading CA certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading CA certificates: no PEM certificate found in %s", file)
		}
	}
	return pool, nil
}
