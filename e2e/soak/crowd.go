//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// crowd is a group of clients that keep a server busy.
type crowd struct {
	name                 string
	connections, streams int
	// idle clients read the response to one request and keep the connection open.
	// Clients that are not idle request an archive and do not read the response.
	idle bool
	// fromRegistry selects a registry as the archive's source instead of an image
	// layout.
	fromRegistry bool
	// maxConnections is the server's limit of connections, or zero for the default.
	maxConnections int
	// limit is the server's maximum memory, in bytes.
	limit int64
}

const (
	// stalledSize is the archive's size. It exceeds the system's buffers for a
	// connection. Registries send the archive in one stream.
	stalledSize = 15 << 20
	// perAddress is the maximum number of connections from one address.
	perAddress = 1024
)

var crowds = []crowd{
	{name: "2,000 stalled clients", connections: 2000, streams: 1, limit: 200 << 20},
	{name: "2,000 stalled clients, archive in a registry", connections: 2000, streams: 1, fromRegistry: true, limit: 200 << 20},
	{name: "4,096 stalled clients", connections: 4096, streams: 1, limit: 256 << 20},
	{name: "12 connections with 100 stalled streams each", connections: 12, streams: 100, limit: 200 << 20},
	{name: "64 idle connections to a server that has 64", connections: 64, streams: 1, idle: true, maxConnections: 64, limit: 200 << 20},
}

// endure runs each crowd against a separate server. It prints the server's peak memory
// and the response times of /healthz.
func endure(ctx context.Context) error {
	program := os.Getenv("TOFU_OCI")
	if program == "" {
		return errors.New("TOFU_OCI is not set: run make soak")
	}
	var all error
	for _, c := range crowds {
		if err := c.occupy(ctx, program); err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return all
}

// occupy starts a server and one crowd, and measures the server.
func (c crowd) occupy(ctx context.Context, program string) error {
	// 1. Start the server.
	dir, err := os.MkdirTemp("", "soak-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ca, err := testca.New()
	if err != nil {
		return err
	}
	from, stop, err := c.repository(ctx, ca, dir)
	if err != nil {
		return err
	}
	defer stop()
	archive, err := fillWithArchive(ctx, ca, from)
	if err != nil {
		return err
	}
	metrics, err := fixture.FreeAddress(ctx)
	if err != nil {
		return err
	}
	args := []string{"--from", from, "--ca-file", filepath.Join(dir, "ca.pem"), "--metrics-listen", metrics}
	if c.maxConnections > 0 {
		config := filepath.Join(dir, "serve.hcl")
		rules := fmt.Sprintf("anonymous {\n  allow   = [\"*/*/*\"]\n  modules = [\"*/*/*/*\"]\n}\nlimits { connections = %d }\n", c.maxConnections)
		if err := os.WriteFile(config, []byte(rules), 0o600); err != nil {
			return err
		}
		args = append(args, "--serve-config", config)
	}
	server, err := fixture.StartServer(ctx, program, dir, ca, args...)
	if err != nil {
		return err
	}
	defer server.Kill()
	// 2. Start the clients.
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	accepted, refused, err := c.arrive(ctx, ca, server.URL, archive)
	if err != nil {
		return err
	}
	// 3. Measure the server.
	own, clients := probe(ctx, ca, "http://"+metrics+"/healthz"), probe(ctx, ca, server.URL+"/healthz")
	peak, err := server.Peak()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d served, %d rejected. Peak memory %d MiB, limit %d MiB. /healthz for probes: %s; for other clients: %s.\n",
		c.name, accepted, refused, peak>>20, c.limit>>20, own, clients)
	if peak > c.limit {
		err = fmt.Errorf("the server used %d bytes, want at most %d", peak, c.limit)
	}
	return errors.Join(err, own.check(), clients.check())
}

// repository returns the template of the repository that the crowd's server serves.
func (c crowd) repository(ctx context.Context, ca *testca.CA, dir string) (from string, stop func(), err error) {
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca.PEM(), 0o600); err != nil {
		return "", nil, err
	}
	if !c.fromRegistry {
		return "oci-layout:" + filepath.ToSlash(dir) + "/layout", func() {}, nil
	}
	url, stop, err := fixture.Serve(ctx, ca, registrytest.New(registrytest.Options{}))
	return strings.TrimPrefix(url, "https://") + "/acme/{type}", stop, err
}

// fillWithArchive pushes a release and returns the path of the release's archive.
func fillWithArchive(ctx context.Context, ca *testca.CA, from string) (path string, err error) {
	r := provider.Release{Protocols: []string{"5.0"}}
	if r.Address, err = provider.ParseAddress("acme/rocket"); err != nil {
		return "", err
	}
	if r.Version, err = provider.ParseVersion("1.0.0"); err != nil {
		return "", err
	}
	t, err := template.Parse(from)
	if err != nil {
		return "", err
	}
	ref, err := t.Repository(r.Address)
	if err != nil {
		return "", err
	}
	repo, err := repository.Open(ref, repository.Options{HTTP: trusting(ca)})
	if err != nil {
		return "", err
	}
	signer, err := fixture.NewSigner()
	if err != nil {
		return "", err
	}
	content, here := make([]byte, stalledSize), provider.CurrentPlatform()
	_, _ = rand.NewChaCha8([32]byte{3}).Read(content)
	path = fmt.Sprintf("/archive/-/%s/%s/%s", r.Address, r.Version, provider.Filename(r.Address, r.Version, here))
	return path, fixture.PushRelease(ctx, repo, r, map[provider.Platform][]byte{here: content}, signer)
}

// arrive sends the requests of all clients, and returns the numbers of accepted and
// rejected requests. The clients stay connected until the context is canceled.
func (c crowd) arrive(ctx context.Context, ca *testca.CA, url, archive string) (accepted, refused int64, err error) {
	path := archive
	if c.idle {
		path = "/healthz"
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	var served, turnedAway atomic.Int64
	var clients errgroup.Group
	const atOnce = 50
	clients.SetLimit(atOnce)
	for i := range c.connections {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/perAddress))}}
		transport := &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: c.streams > 1, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10},
		}
		clients.Go(func() error {
			for range c.streams {
				ok, err := c.request(ctx, transport, url+path)
				if err != nil {
					return err
				}
				if ok {
					served.Add(1)
				} else {
					turnedAway.Add(1)
				}
			}
			return nil
		})
	}
	err = clients.Wait()
	return served.Load(), turnedAway.Load(), err
}

// request sends one request and reports whether the server accepts it.
func (c crowd) request(ctx context.Context, transport http.RoundTripper, url string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false, nil //nolint:nilerr // the server closed the connection
	}
	if c.idle {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 {
			return false, fmt.Errorf("503 with invalid Retry-After %q", resp.Header.Get("Retry-After"))
		}
	}
	return resp.StatusCode == http.StatusOK, nil
}
