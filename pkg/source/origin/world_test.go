package origin_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/memnet"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// Platforms that no machine that runs these tests uses, and parsed values.
var (
	haiku, plan9            = nouns.Haiku, nouns.Plan9
	address, version, zipOf = nouns.Address, nouns.Version, nouns.Zip
)

// world is an origin registry with a few releases, and a client configuration for it.
type world struct {
	ca      *testca.CA
	network *memnet.Network // if nil, the system's network is used
	origin  *origintest.Origin
	server  *httptest.Server
	address provider.Address
	zips    map[provider.Platform][]byte
	options origin.Options
}

// newWorld starts an origin registry with the provider acme/thing. It has 1.2.3 for two
// platforms, some older versions, a pre-release, and an invalid version.
func newWorld(t *testing.T, o origintest.Options) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ca: ca, origin: origintest.New(o)}
	w.server = serve(t, ca, w.origin)
	w.useClient(t, httpclient.Options{Timeout: patience.Limit})
	w.fill(t)
	return w
}

// newMemoryWorld is like newWorld, but uses an in-memory network and the default timeouts,
// for tests in synctest bubbles.
func newMemoryWorld(t *testing.T, o origintest.Options) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	network := memnet.New()
	w := &world{ca: ca, network: network, origin: origintest.New(o)}
	w.server = serveOn(t, ca, w.origin, network.Listen("localhost:8443"))
	w.useClient(t, httpclient.Options{})
	w.fill(t)
	return w
}

// fill adds the provider to the origin registry.
func (w *world) fill(t *testing.T) {
	t.Helper()
	w.address = address(t, w.host()+"/acme/thing")
	w.zips = map[provider.Platform][]byte{haiku: zipOf(t, "haiku"), plan9: zipOf(t, "plan9")}
	for _, version := range []string{"1.0.0", "1.10.0-beta1", "latest", "0.1.0", "1.2.0"} {
		w.add(t, origintest.Release{Version: version, Archives: map[provider.Platform]origintest.Archive{
			haiku: {Bytes: zipOf(t, version)},
		}})
	}
	w.add(t, w.release())
}

// release returns version 1.2.3. Tests can modify the release and add it again.
func (w *world) release() origintest.Release {
	return origintest.Release{
		Version: "1.2.3", Protocols: []string{"6.0", "5.0"},
		Archives:  map[provider.Platform]origintest.Archive{haiku: {Bytes: w.zips[haiku]}, plan9: {Bytes: w.zips[plan9]}},
		Signature: []byte("signature"), Keys: []string{"key b", "key a", "key b\n"},
	}
}

func (w *world) add(t *testing.T, r origintest.Release) {
	t.Helper()
	r.Namespace, r.Type = "acme", "thing"
	if err := w.origin.Add(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// useClient sets a client with the given options that trusts the servers of the world.
func (w *world) useClient(t *testing.T, o httpclient.Options) {
	t.Helper()
	o.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(o.CAFile, w.ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	o.FirstWait = time.Microsecond
	if w.network != nil {
		o.Dial = w.network.Dial
	}
	client, err := httpclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	w.options.HTTP = client
}

func (w *world) host() string { return strings.TrimPrefix(w.server.URL, "https://") }

func (w *world) source() *origin.Source { return origin.New(w.options) }

// read reads everything about 1.2.3 from the source.
func (w *world) read(t *testing.T) (provider.Release, error) {
	t.Helper()
	s := w.source()
	r, err := s.Release(t.Context(), w.address, version(t, "1.2.3"))
	if err != nil {
		return r, err
	}
	for _, p := range r.Packages {
		body, _, err := s.Open(t.Context(), p)
		if err != nil {
			return r, err
		}
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// text returns an error's message without variable parts.
func (w *world) text(err error) string {
	return strings.ReplaceAll(fmt.Sprint(err), w.host(), "HOST")
}

// serve starts a TLS server on a loopback address.
func serve(t *testing.T, ca *testca.CA, h http.Handler) *httptest.Server {
	t.Helper()
	return serveOn(t, ca, h, nil)
}

// serveOn is like serve, but uses the given listener unless it is nil.
func serveOn(t *testing.T, ca *testca.CA, h http.Handler, l net.Listener) *httptest.Server {
	t.Helper()
	config, err := ca.ServerConfig("127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	if l == nil {
		s = httptest.NewUnstartedServer(h)
	}
	s.TLS = config
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
