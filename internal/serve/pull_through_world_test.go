package serve_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// pullThroughWorld is a world with an origin. The origin has releases that the
// repositories don't have.
type pullThroughWorld struct {
	*world
	origin   *origintest.Origin
	originCA *testca.CA
	key      *key
	pulls    pullthrough.Options
	// options configures the server.
	options serve.Options

	eventsMu   sync.Mutex
	pullEvents []pullthrough.Event
	ended      chan pullthrough.Event
}

// newPullThrough returns a world that uses a registry or image layouts, with an origin.
func newPullThrough(tb testing.TB, over func(testing.TB, ...func(*serve.Options)) *world, options ...func(*serve.Options)) *pullThroughWorld {
	tb.Helper()
	ca, err := testca.New()
	if err != nil {
		tb.Fatal(err)
	}
	t := &pullThroughWorld{originCA: ca, origin: origintest.New(origintest.Options{}), key: newKey(tb), ended: make(chan pullthrough.Event, 100)}
	host := registrytest.Serve(tb, ca, t.origin)
	pattern, err := provider.ParsePattern("acme/*")
	if err != nil {
		tb.Fatal(err)
	}
	t.pulls = pullthrough.Options{
		Patterns: []provider.Pattern{pattern},
		Source: origin.New(origin.Options{
			HTTP: registrytest.Client(tb, ca), Lifetime: time.Nanosecond,
			Services: map[svchost.Hostname]string{provider.DefaultHost: "https://" + host + "/v1/providers/"},
		}),
		Open:    func(ref template.Reference) (repository.Repository, error) { return t.open(ref) },
		Publish: publish.Options{Verify: trust.Policy{}.VerifyOffered},
		Backoff: func(int) time.Duration { return 0 },
		Dir:     tb.TempDir(), MaxQueue: patience.Limit,
	}
	modules := origin.NewModules(origin.Options{
		HTTP: registrytest.Client(tb, ca), Lifetime: time.Nanosecond,
		Services: map[svchost.Hostname]string{provider.DefaultHost: "https://" + host + "/v1/modules/"},
	})
	t.pulls.ModuleSource, t.pulls.MirrorModule = modules, module.MirrorOptions{}.PublishFunc(modules)
	withPulls := func(o *serve.Options) {
		o.PullThrough = &t.pulls
		o.Events.OnPull = func(e pullthrough.Event) {
			t.eventsMu.Lock()
			t.pullEvents = append(t.pullEvents, e)
			t.eventsMu.Unlock()
			if e.Stage != pullthrough.StageStarted && e.Repository != "" { // an early refusal has no repository
				t.ended <- e
			}
		}
	}
	options = slices.Concat([]func(*serve.Options){withPulls}, options,
		[]func(*serve.Options){func(o *serve.Options) { t.options = *o }})
	t.world = over(tb, options...)
	tb.Cleanup(t.server.Close)
	return t
}

// replica returns a second server for the same repositories and origin.
func (t *pullThroughWorld) replica(tb testing.TB) *serve.Server {
	tb.Helper()
	s, err := serve.New(t.options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// end waits until a mirror operation has finished.
func (t *pullThroughWorld) end(tb testing.TB) pullthrough.Event {
	tb.Helper()
	return <-t.ended
}

// stages returns the stages of all events.
func (t *pullThroughWorld) stages() (stages []string) {
	t.eventsMu.Lock()
	defer t.eventsMu.Unlock()
	for _, e := range t.pullEvents {
		stages = append(stages, e.Stage)
	}
	return stages
}

// zipOf returns the zip of a provider with additional content.
func zipOf(tb testing.TB, version string, p provider.Platform, size int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "terraform-provider-rocket_v" + version, Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := entry.Write(append([]byte(version+" "+p.String()), bytes.Repeat([]byte("x"), size)...)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// offer adds a release of acme/rocket, signed by the world's key, to the origin.
func (t *pullThroughWorld) offer(tb testing.TB, version string, size int, edit ...func(*origintest.Release)) map[provider.Platform][]byte {
	tb.Helper()
	zips := map[provider.Platform][]byte{}
	r := origintest.Release{Namespace: "acme", Type: "rocket", Version: version, Protocols: []string{"5.0"}, Archives: map[provider.Platform]origintest.Archive{}}
	listed := map[string]digest.Digest{}
	for _, p := range []provider.Platform{haiku, plan9} {
		zips[p] = zipOf(tb, version, p, size)
		r.Archives[p] = origintest.Archive{Bytes: zips[p]}
		listed[provider.Filename(nouns.Address(tb, "acme/rocket"), nouns.Version(tb, version), p)] = digest.FromBytes(zips[p])
	}
	r.Sums = sums.New(listed).Bytes()
	r.Signature, r.Keys = t.key.sign(tb, r.Sums), []string{string(t.key.public(tb))}
	for _, change := range edit {
		change(&r)
	}
	if err := t.origin.Add(tb.Context(), r); err != nil {
		tb.Fatal(err)
	}
	return zips
}

// archiveOf returns the path of an archive of acme/rocket.
func archiveOf(version string, p provider.Platform) string {
	return "/archive/-/registry.opentofu.org/acme/rocket/" + version + "/terraform-provider-rocket_" + version + "_" + p.String() + ".zip"
}

// checkComplete checks that a version in the repository is complete, including the content of its
// blobs.
func (t *pullThroughWorld) checkComplete(tb testing.TB, version string) {
	tb.Helper()
	found, err := repository.Inspect(tb.Context(), t.repo, version, repository.DepthContent)
	if err != nil || !found.Exists() {
		tb.Fatalf("%s doesn't exist: %v %v", version, found.Absent, err)
	}
	for _, p := range []provider.Platform{haiku, plan9} {
		if !found.At(p).IsIntact() {
			tb.Errorf("%s for %s is incomplete: %+v", version, p, found.At(p))
		}
	}
}

// checkAbsent checks that a version doesn't exist.
func (t *pullThroughWorld) checkAbsent(tb testing.TB, version string) {
	tb.Helper()
	found, err := repository.Inspect(tb.Context(), t.repo, version, repository.DepthIndex)
	if err != nil || found.Exists() {
		tb.Errorf("%s exists, or %v", version, err)
	}
}

func ok(tb testing.TB, code int, body string) {
	tb.Helper()
	if code != http.StatusOK {
		tb.Fatalf("got %d %s", code, body)
	}
}
