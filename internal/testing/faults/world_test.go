// This key exchange is slow with the race detector.
//go:debug tlsmlkem=0

package faults_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	atOrigin       = "localhost:443"
	atRegistry     = "localhost:1002"
	atElsewhere    = "localhost:1003"
	repositoryName = "acme/thing"
	password       = "canary-password"
)

// world contains an origin registry, an OCI registry, and a directory.
type world struct {
	network  *memnet.Network
	ca       *testca.CA
	origin   *origintest.Origin
	registry *registrytest.Registry
	// strayed counts the requests that sent credentials to wrong hosts.
	strayed atomic.Int32
	goods   goods
	// dist contains the zips of a build. output, layout, and temp are initially empty.
	dist, output, layout, temp string
	// stop is called after clients have made the given number of reads. If the number
	// is 0, stop is not called.
	stop  atomic.Pointer[context.CancelFunc]
	reads atomic.Int64
}

// nature configures a world.
type nature struct {
	origin   origintest.Options
	registry registrytest.Options
	shapes   []shape
	// unsized makes the origin registry omit the Content-Length of zips.
	unsized bool
	// unsigned makes the origin registry offer no signatures, for flows that verify them.
	unsigned bool
}

// newWorld creates a world that lasts until the caller's synctest bubble ends.
func newWorld(t *testing.T, n nature) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := &world{
		network: memnet.New(), ca: ca, origin: origintest.New(n.origin), registry: registrytest.New(n.registry), goods: newGoods(t, n.shapes),
		dist: filepath.Join(dir, "dist"), output: filepath.Join(dir, "output"), layout: filepath.Join(dir, "layout"), temp: filepath.Join(dir, "temp"),
	}
	if err := os.Mkdir(w.temp, 0o755); err != nil {
		t.Fatal(err)
	}
	w.goods.offer(t, w.origin, !n.unsigned)
	w.goods.build(t, w.dist)
	w.serve(t, atRegistry, w.registry)
	w.serve(t, atOrigin, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if n.unsized && filepath.Ext(r.URL.Path) == ".zip" {
			origintest.Unsized()(rw, r, w.origin.ServeHTTP)
			return
		}
		w.origin.ServeHTTP(rw, r)
	}))
	w.serve(t, atElsewhere, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.strayed.Add(1)
		}
		w.registry.ServeHTTP(rw, r)
	}))
	return w
}

func (w *world) serve(t *testing.T, address string, h http.Handler) {
	t.Helper()
	config, err := w.ca.ServerConfig("localhost")
	if err != nil {
		t.Fatal(err)
	}
	// A handler that hangs before it reads the request detects the end of the world
	// only through its context.
	ctx, end := context.WithCancel(t.Context())
	server := &http.Server{
		Handler: h, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(io.Discard, "", 0),
	}
	listener := w.network.Listen(address)
	go func() { _ = server.Serve(tls.NewListener(listener, config)) }()
	t.Cleanup(func() {
		end()
		_ = server.Close()
	})
}

// behave removes all faults.
func (w *world) behave() {
	w.network.Behave()
	w.origin.Behave()
	w.registry.Behave()
	w.stop.Store(nil)
	w.reads.Store(0)
}

// client returns a new client, because each run uses its own client, like a process.
func (w *world) client(t *testing.T) *http.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, w.ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := httpclient.New(httpclient.Options{CAFile: file, Dial: w.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := w.network.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{c, w}, nil
}

// watched is a connection that counts reads.
type watched struct {
	net.Conn
	world *world
}

func (c *watched) Read(p []byte) (int, error) {
	if stop := c.world.stop.Load(); c.world.reads.Add(-1) == 0 && stop != nil {
		(*stop)()
	}
	return c.Conn.Read(p)
}

// repository returns the repository in the registry, or in the image layout if layout
// is set.
func (w *world) repository(t *testing.T, client *http.Client, layout bool) repository.Repository {
	t.Helper()
	ref := template.Reference{Registry: atRegistry, Name: repositoryName}
	if layout {
		ref = template.Reference{Layout: filepath.ToSlash(w.layout)}
	}
	repo, err := repository.Open(ref, repository.Options{
		HTTP: client,
		Credential: func(context.Context, string) (repository.Credential, error) {
			return repository.Credential{Username: "user", Password: password}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func address(t *testing.T) provider.Address {
	t.Helper()
	a, err := provider.ParseAddress("localhost/acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	return a
}
