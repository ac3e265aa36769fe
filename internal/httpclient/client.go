// Package httpclient makes the one HTTP client that talks to origin registries
// and OCI registries alike: bounded in time, patient with trouble that passes,
// and careful about what it carries to which host.
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
	// DefaultTimeout is how long a connection may be silent. Slow registries
	// take tens of seconds to store a large upload before they answer.
	DefaultTimeout = 60 * time.Second
	// MaxTries is how often a request is made at most, the first try included.
	MaxTries = 3
	// maxHandshake bounds the TLS handshake, which needs no disk or database
	// on the other side.
	maxHandshake = 15 * time.Second
	// defaultUserAgent names the program to those who operate registries.
	defaultUserAgent = "tofu-oci"
)

// Options say how a client behaves; the zero value is ready for use.
type Options struct {
	// Timeout is how long a connection may neither give nor take data; zero
	// means [DefaultTimeout]. There is no limit on the whole transfer.
	Timeout time.Duration
	// CAFile names a PEM file of certificates that are trusted beside the
	// system's own.
	CAFile string
	// UserAgent is sent with requests that bring none, "tofu-oci" when empty.
	UserAgent string
	// FirstWait is the pause before the second try, which doubles from there;
	// zero means [DefaultFirstWait].
	FirstWait time.Duration
	// Dial makes the connections; nil is those of the system. Tests have networks
	// of their own.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Retried is told of every try that is about to be repeated. It may be
	// nil, and is called concurrently.
	OnRetry func(Retry)
	// Trace is told of all that goes over the wire. Nil costs nothing.
	Trace *Trace
}

// Retry describes a try that did not work and will be repeated.
type Retry struct {
	Method string
	// URL has neither query nor user information.
	URL string
	// Attempt counts the tries made so far, Of the tries there are in total.
	Attempt, Of int
	// Wait is the pause before the next try.
	Wait time.Duration
	// Cause is what went wrong.
	Cause error
	// Host is set when all requests to it wait. That is told once for all that
	// are answered so at the same time.
	Host string
}

// New makes a client that takes proxies from the environment, follows
// redirects without carrying credentials to other hosts, and repeats requests
// as [MaxTries] allows. All that a client makes share one pool of requests, so a
// run has one client. It fails when the CA file can't be used.
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
	roots, err := rootsWith(o.CAFile)
	if err != nil {
		return nil, err
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeout}).DialContext
	}
	apart := newTransport(o, roots)
	apart.Protocols = new(http.Protocols)
	apart.Protocols.SetHTTP1(true)
	var wire transport = &connections{shared: newTransport(o, roots), dedicated: apart}
	if o.Trace != nil {
		wire = &tracer{transport: wire, trace: *o.Trace}
	}
	return &http.Client{
		Transport:     &retrier{limited: limited{wire, schedule.NewRequests()}, options: o},
		CheckRedirect: checkRedirect,
	}, nil
}

// transport sends requests; package http has the second method without a name for it.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// connections are those that requests share, and those of [WithDedicatedConnection] and of large
// uploads. In HTTP/2 a server lets a connection have a megabyte or less under way,
// all its uploads together, which over a long way is little.
type connections struct{ shared, dedicated *http.Transport }

// RoundTrip implements http.RoundTripper.
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	if hasDedicatedConnection(req.Context()) || isLargeUpload(req) {
		return c.dedicated.RoundTrip(req)
	}
	return c.shared.RoundTrip(req)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (c *connections) CloseIdleConnections() {
	c.shared.CloseIdleConnections()
	c.dedicated.CloseIdleConnections()
}

func newTransport(o Options, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: checkProxy,
		DialContext:            idleDialer(o.Dial, o.Timeout),
		// A custom dialer or TLS configuration alone would turn HTTP/2 off.
		// HTTP/2 pings stay off: their answers would keep a connection alive
		// whose transfer hangs.
		ForceAttemptHTTP2:     true,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   min(o.Timeout, maxHandshake),
		ExpectContinueTimeout: time.Second,
		// As many as there may be, else they are opened again and again.
		MaxIdleConnsPerHost: schedule.MaxRequestsToHost,
		// Pooled connections are given up well before the idle deadline cuts
		// them, so that no request is sent on one that is about to go.
		IdleConnTimeout: o.Timeout / 2,
	}
}

// rootsWith returns the system's certificates and those of a PEM file; nil, the
// system's own, when no file is named.
func rootsWith(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading CA certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("loading the system's CA certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("reading CA certificates: %s holds no certificate in PEM form", file)
	}
	return pool, nil
}
