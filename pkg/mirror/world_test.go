package mirror_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// world is an origin with versions of acme/rocket for two platforms, and an OCI
// registry as the target.
type world struct {
	client   *http.Client
	origin   *origintest.Origin
	registry *registrytest.Registry
	// atOrigin and atRegistry count requests and connections.
	atOrigin, atRegistry *door
	address              provider.Address
}

// newWorld starts an origin with the versions 1.0.0, 1.1.0, and so on, with zips of the
// given size.
func newWorld(t *testing.T, o registrytest.Options, versions, size int) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{client: registrytest.Client(t, ca), origin: origintest.New(origintest.Options{}), registry: registrytest.New(o)}
	w.atOrigin, w.atRegistry = newDoor(t, ca, w.origin), newDoor(t, ca, w.registry)
	w.address = address(t, w.atOrigin.host+"/acme/rocket")
	for i := range versions {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: fmt.Sprintf("1.%d.0", i), Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{}, Signature: []byte("a signature"),
		}
		for _, p := range []provider.Platform{{OS: "haiku", Arch: "riscv64"}, {OS: "plan9", Arch: "mips64"}} {
			r.Archives[p] = origintest.Archive{Bytes: archive(t, r.Version+p.String(), size)}
		}
		if err := w.origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) source() *origin.Source { return origin.New(origin.Options{HTTP: w.client}) }

func (w *world) requirement(t *testing.T, text string) provider.Requirement {
	t.Helper()
	r, err := provider.ParseRequirement(w.atOrigin.host + "/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// target returns the repository for a provider.
func (w *world) target(a provider.Address) (repository.Repository, publish.Options, error) {
	repo, err := repository.Open(template.Reference{Registry: w.atRegistry.host, Name: a.Namespace + "/" + a.Type}, repository.Options{
		HTTP: w.client,
		Credential: func(context.Context, string) (repository.Credential, error) {
			return repository.Credential{Username: "user", Password: "password"}, nil
		},
	})
	return repo, publish.Options{}, err
}

// run mirrors all versions and returns the results.
func (w *world) run(t *testing.T, src provider.Source, o mirror.Options) []mirror.Result {
	t.Helper()
	var results []mirror.Result
	then := o.OnResult
	o.OnResult = func(r mirror.Result) {
		results = append(results, r)
		if then != nil {
			then(r)
		}
	}
	if o.Target == nil {
		o.Target = w.target
	}
	if err := mirror.Run(t.Context(), src, []provider.Requirement{{Address: w.address}}, o); err != nil {
		t.Fatal(err)
	}
	return results
}

// wantVersions checks that the results cover n versions in descending order, starting
// with 1.newest.0.
func wantVersions(t *testing.T, results []mirror.Result, newest, n int) {
	t.Helper()
	if len(results) != n {
		t.Fatalf("got %d results, want %d", len(results), n)
	}
	for i, r := range results {
		if want := fmt.Sprintf("1.%d.0", newest-i); r.Item.Version.String() != want {
			t.Errorf("result %d is about %s, not %s", i, r.Item.Version, want)
		}
	}
}

// door is a server that counts connections and requests, and records the maximum number
// of concurrent requests.
type door struct {
	host string

	mu          sync.Mutex
	now, most   int
	requests    int
	connections int
}

func newDoor(t *testing.T, ca *testca.CA, h http.Handler) *door {
	t.Helper()
	d := &door{}
	config, err := ca.ServerConfig("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.now, d.requests = d.now+1, d.requests+1
		d.most = max(d.most, d.now)
		d.mu.Unlock()
		defer func() {
			d.mu.Lock()
			d.now--
			d.mu.Unlock()
		}()
		h.ServeHTTP(w, r)
	}))
	s.TLS = config
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			d.mu.Lock()
			d.connections++
			d.mu.Unlock()
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	d.host = "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
	return d
}
