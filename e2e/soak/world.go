//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// world contains a server, its faulty registry, and its clients.
type world struct {
	options
	url string
	// faults is the registry. upstream is the client with which the server sends
	// requests to the registry. https is the client that sends requests to the server.
	faults          *faulty
	upstream, https *http.Client
	// archives maps the names of all archives to their digests.
	archives map[string]digest.Digest
	stops    []func()

	mu       sync.Mutex
	statuses map[int]int
	broken   []error
}

const (
	providers   = 3
	releases    = 5
	archiveSize = 200_000
	// maxAge is short, so that the server sends many requests to the registry.
	maxAge = 300 * time.Millisecond
	// memory is small, so that the server also evicts cache entries.
	memory = 1 << 20
)

func newWorld(ctx context.Context, o options) (*world, error) {
	w := &world{options: o, archives: map[string]digest.Digest{}, statuses: map[int]int{}}
	ca, err := testca.New()
	if err != nil {
		return nil, err
	}
	w.upstream, w.https = trusting(ca), trusting(ca)
	w.faults = newFaulty(registrytest.New(registrytest.Options{}), o.seed)
	registry, stop, err := fixture.Serve(ctx, ca, w.faults)
	if err != nil {
		return nil, err
	}
	w.stops = append(w.stops, stop)
	from, err := template.Parse(strings.TrimPrefix(registry, "https://") + "/{namespace}/{type}")
	if err == nil {
		err = w.fill(ctx, from)
	}
	if err == nil {
		err = w.serve(ctx, ca, from)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	w.faults.start()
	return w, nil
}

func trusting(ca *testca.CA) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM())
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}
}

func (w *world) close() {
	for _, stop := range slices.Backward(w.stops) {
		stop()
	}
}

func (w *world) closeIdle() {
	w.upstream.CloseIdleConnections()
	w.https.CloseIdleConnections()
}

func (w *world) open(ref template.Reference) (repository.Repository, error) {
	return repository.Open(ref, repository.Options{HTTP: w.upstream})
}

// serve starts the server.
func (w *world) serve(ctx context.Context, ca *testca.CA, from template.Template) error {
	server, err := serve.New(serve.Options{
		From: []template.Template{from}, MaxAge: maxAge, Memory: memory,
		Open:   func(ref template.Reference) (repository.Reader, error) { return w.open(ref) },
		Events: serve.Events{OnRequest: w.onRequest},
	})
	if err != nil {
		return err
	}
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Run(running, l, serve.ListenOptions{TLS: config, Grace: time.Second}); err != nil {
			w.wrong(err)
		}
	}()
	w.stops = append(w.stops, func() { end(); <-ended })
	_, port, err := net.SplitHostPort(l.Addr().String())
	w.url = "https://localhost:" + port
	return err
}

// fill pushes all releases.
func (w *world) fill(ctx context.Context, from template.Template) error {
	signer, err := fixture.NewSigner()
	if err != nil {
		return err
	}
	random := rand.NewChaCha8([32]byte{2})
	for i := range providers {
		address, err := provider.ParseAddress(fmt.Sprintf("acme/rocket%d", i))
		if err != nil {
			return err
		}
		ref, err := from.Repository(address)
		if err != nil {
			return err
		}
		repo, err := w.open(ref)
		if err != nil {
			return err
		}
		for j := range releases {
			v, err := provider.ParseVersion(fmt.Sprintf("1.%d.0", j))
			if err != nil {
				return err
			}
			archives := map[provider.Platform][]byte{}
			for _, p := range platforms() {
				archives[p] = make([]byte, archiveSize)
				_, _ = random.Read(archives[p])
				w.archives[provider.Filename(address, v, p)] = digest.FromBytes(archives[p])
			}
			if err := fixture.PushRelease(ctx, repo, provider.Release{Address: address, Version: v, Protocols: []string{"5.0"}}, archives, signer); err != nil {
				return err
			}
		}
	}
	return nil
}

func platforms() []provider.Platform {
	return []provider.Platform{{OS: "haiku", Arch: "riscv64"}, {OS: "plan9", Arch: "mips"}}
}

// onRequest counts the responses that the server reports in its request events.
func (w *world) onRequest(a serve.RequestEvent) {
	w.mu.Lock()
	w.statuses[a.Status]++
	w.mu.Unlock()
	if a.Status == http.StatusInternalServerError {
		w.wrong(fmt.Errorf("%s %s: %w", a.Method, a.Path, a.Err))
	}
}

const mostTold = 20

func (w *world) wrong(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) < mostTold {
		w.broken = append(w.broken, err)
	}
}

func (w *world) failures() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.broken...)
}

// statusCounts returns the number of responses with each status.
func (w *world) statusCounts() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for status, n := range w.statuses {
		list = append(list, fmt.Sprintf("%d × %d", n, status))
	}
	slices.Sort(list)
	return "Answers: " + strings.Join(list, ", ") + "."
}
