package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

var makers = map[string]func(testing.TB, ...func(*serve.Options)) *world{"layout": newLayout, "registry": newRegistry}

// TestPullThrough checks that clients can list, describe, and install a release that
// only the origin has. Afterwards, the repository contains the complete release.
func TestPullThrough(t *testing.T) {
	t.Parallel()
	for name, over := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPullThrough(t, over)
			zips := w.offer(t, "1.2.0", 100_000)
			w.push(t, rocket{version: "1.0.0"})
			versions := document[map[string]map[string]struct{}](t, w.get(t, mirrored+"index.json"))
			if diff := cmp.Diff(map[string]map[string]struct{}{"versions": {"1.0.0": {}, "1.2.0": {}}}, versions); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			found := document[archives](t, w.get(t, mirrored+"1.2.0.json")).Archives[plan9.String()]
			if diff := cmp.Diff([]string{sums.ZH(digest.FromBytes(zips[plan9]))}, found.Hashes); diff != "" {
				t.Errorf("hashes (-want +got):\n%s", diff)
			}
			at, err := (&url.URL{Path: mirrored + "1.2.0.json"}).Parse(found.URL)
			if err != nil {
				t.Fatal(err)
			}
			got := w.get(t, at.RequestURI())
			ok(t, got.Code, got.Body.String())
			if !bytes.Equal(got.Body.Bytes(), zips[plan9]) {
				t.Errorf("got %d bytes, want %d", got.Body.Len(), len(zips[plan9]))
			}
			if e := w.end(t); e.Err != nil || e.Status != "created" || e.Verdict.Trust != provider.TrustSigned || e.Repository != w.repo.String() || e.Bytes == 0 {
				t.Errorf("events: %+v", e)
			}
			w.checkComplete(t, "1.2.0")
			if diff := cmp.Diff(2, w.origin.Requests()[origintest.Zip]); diff != "" {
				t.Errorf("zips that were fetched (-want +got):\n%s", diff)
			}
			// The remaining steps don't need the origin.
			hashes := document[archives](t, w.get(t, mirrored+"1.2.0.json")).Archives[plan9.String()].Hashes
			if len(hashes) != 1 || w.last().Repository != w.repo.String() {
				t.Errorf("not served from the repository: %v, %+v", hashes, w.last())
			}
			got = w.get(t, archiveOf("1.2.0", haiku))
			ok(t, got.Code, got.Body.String())
			if diff := cmp.Diff([]string{"started", "done"}, w.stages()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPullThroughEmpty checks that a new provider is stored in the last repository.
func TestPullThroughEmpty(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, over := range makers {
		w := newPullThrough(t, over)
		w.offer(t, "1.2.0", 1000)
		if versions := document[map[string]map[string]any](t, w.get(t, mirrored+"index.json")); len(versions["versions"]) != 1 {
			t.Errorf("%s: got %v", name, versions)
		}
		if got := w.last().Repository; got != "origin registry.opentofu.org" {
			t.Errorf("%s: response from %q", name, got)
		}
		got := w.get(t, archiveOf("1.2.0", plan9))
		ok(t, got.Code, got.Body.String())
		w.end(t)
		w.checkComplete(t, "1.2.0")
	}
}

// TestPullThroughOnce checks that concurrent clients cause only one mirror operation
// and one download of each zip.
func TestPullThroughOnce(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, over := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPullThrough(t, over)
			zips := w.offer(t, "1.2.0", 3<<20)
			released := hold(w)
			var group sync.WaitGroup
			for n := range 50 {
				p := []provider.Platform{plan9, plan9, plan9, haiku}[n%4]
				group.Go(func() {
					got := w.get(t, archiveOf("1.2.0", p))
					if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), zips[p]) {
						t.Errorf("client %d: got %d, %d bytes: %.300s", n, got.Code, got.Body.Len(), got.Body)
					}
				})
			}
			released()
			group.Wait()
			if t.Failed() {
				return // the mirror operation might not have started
			}
			w.end(t)
			w.checkComplete(t, "1.2.0")
			if n := w.origin.Requests()[origintest.Zip]; n != 2 {
				t.Errorf("fetched %d zips", n)
			}
			if diff := cmp.Diff([]string{"started", "done"}, w.stages()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// hold delays zips until released is called.
func hold(w *pullThroughWorld) (released func()) {
	blocked := make(chan struct{})
	w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		<-blocked
		honest(rw, r)
	}, -1)
	return sync.OnceFunc(func() { close(blocked) })
}

// TestPullThroughClientDisconnects checks that the mirror operation continues if the
// client disconnects, and that a later client shares the downloaded file.
func TestPullThroughClientDisconnects(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1<<20)
	started, blocked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		once.Do(func() { close(started) })
		<-blocked
		honest(rw, r)
	}, -1)
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	document[any](t, w.get(t, mirrored+"1.2.0.json")) // requested now, so that it isn't delayed later
	group.Go(func() {
		w.server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, archiveOf("1.2.0", plan9), nil))
	})
	<-started
	leave()
	group.Wait()
	group.Go(func() {
		got := w.get(t, archiveOf("1.2.0", plan9), "Range", "bytes=1000-")
		if got.Code != http.StatusPartialContent || !bytes.Equal(got.Body.Bytes(), zips[plan9][1000:]) {
			t.Errorf("got %d, %d bytes", got.Code, got.Body.Len())
		}
	})
	close(blocked)
	if e := w.end(t); e.Err != nil {
		t.Error(e.Err)
	}
	group.Wait()
	w.checkComplete(t, "1.2.0")
	if n := w.origin.Requests()[origintest.Zip]; n != 2 {
		t.Errorf("fetched %d zips", n)
	}
}

// TestPullThroughRefused checks that a rejected release is not mirrored, and that the
// link to its archive contains the reason. Clients print the link.
func TestPullThroughRefused(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout, func(o *serve.Options) {
		o.PullThrough.Publish.Verify = trust.Policy{Mode: trust.ModeRequire}.VerifyOffered
	})
	w.offer(t, "1.2.0", 1000, func(r *origintest.Release) { r.Signature = nil })
	found := document[archives](t, w.get(t, mirrored+"1.2.0.json")).Archives[plan9.String()]
	if !strings.Contains(found.URL, "1.2.0_is_refused:_unsigned") || !strings.HasSuffix(found.URL, "/terraform-provider-rocket_1.2.0_plan9_mips.zip") {
		t.Errorf("got %s", found.URL)
	}
	for _, path := range []string{strings.TrimPrefix(found.URL, "../../../.."), archiveOf("1.2.0", plan9)} {
		got := w.get(t, path)
		if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "is refused: unsigned") || w.last().Refused != "policy" {
			t.Errorf("%s: got %d %s, %+v", path, got.Code, got.Body, w.last())
		}
	}
	w.checkAbsent(t, "1.2.0")
	if w.origin.Requests()[origintest.Zip] != 0 || !slices.Equal(w.stages(), []string{"refused"}) {
		t.Errorf("%v, %v", w.origin.Requests(), w.stages())
	}
}

// TestPullThroughWrongDigest checks that a zip with a wrong digest is sent neither to
// the client nor to the repository. The server remembers the failure for one minute.
func TestPullThroughWrongDigest(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1<<20)
	server := httptest.NewServer(w.server)
	t.Cleanup(server.Close)
	w.origin.Misbehave(origintest.Zip, origintest.FlipBit(500_000), -1)
	resp, err := fetch(t, server.Client(), server.URL+archiveOf("1.2.0", plan9))
	if err != nil {
		t.Fatal(err)
	}
	// The response is an error if the digest is known before the first byte is sent.
	// Otherwise, the response is truncated.
	content, err := io.ReadAll(resp.Body)
	if broken := resp.StatusCode == http.StatusOK && err != nil && len(content) < len(zips[plan9]); !broken && resp.StatusCode != http.StatusBadGateway {
		t.Errorf("got %s, %d bytes, %v", resp.Status, len(content), err)
	}
	var wrong *sums.MismatchError
	if e := w.end(t); e.Stage != pullthrough.StageFailed || !errors.As(e.Err, &wrong) {
		t.Errorf("events: %+v", e)
	}
	w.checkAbsent(t, "1.2.0")
	w.origin.Behave()
	w.clock.Forward(59 * time.Second)
	got := w.get(t, archiveOf("1.2.0", plan9))
	if got.Code != http.StatusBadGateway || !strings.Contains(got.Body.String(), "failed (content)") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	link := document[archives](t, w.get(t, mirrored+"1.2.0.json")).Archives[plan9.String()].URL
	if !strings.Contains(link, "mirroring_registry.opentofu.org_acme_rocket_1.2.0_from_its_origin_registry_failed") {
		t.Errorf("got %s", link)
	}
	if diff := cmp.Diff([]string{"started", "failed"}, w.stages()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	w.clock.Forward(time.Second)
	got = w.get(t, archiveOf("1.2.0", plan9))
	ok(t, got.Code, got.Body.String())
	w.end(t)
	w.checkComplete(t, "1.2.0")
}

// TestPullThroughWrongSums checks that inconsistent documents are reported immediately.
func TestPullThroughWrongSums(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout)
	w.offer(t, "1.2.0", 1000, func(r *origintest.Release) {
		r.Edit = func(_ provider.Platform, document map[string]any) { document["shasum"] = strings.Repeat("0", 64) }
	})
	got := w.get(t, mirrored+"1.2.0.json")
	if got.Code != http.StatusBadGateway || !strings.Contains(got.Body.String(), "the origin registry registry.opentofu.org sent invalid content; ") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestPullThroughNotFound checks that an origin that responds with 404 is not described
// as unreachable.
func TestPullThroughNotFound(t *testing.T) {
	t.Parallel()
	for _, kind := range []origintest.Kind{origintest.Package, origintest.Sums} {
		w := newPullThrough(t, newLayout)
		w.offer(t, "1.2.0", 1000)
		w.origin.Misbehave(kind, status(http.StatusNotFound), -1)
		got := w.get(t, mirrored+"1.2.0.json")
		text := got.Body.String()
		isNamed := strings.Contains(text, "responded with 404 Not Found") || strings.Contains(text, "doesn't have all files of this version")
		if strings.Contains(text, "unreachable") || got.Code != http.StatusNotFound && !isNamed {
			t.Errorf("%s: got %d %s", kind, got.Code, text)
		}
	}
}

// TestPullThroughDown checks that the server lists only versions in the repository
// while the origin is down. The response is marked as stale.
func TestPullThroughDown(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newLayout)
	w.push(t, rocket{version: "1.0.0"})
	for _, kind := range []origintest.Kind{origintest.Versions, origintest.Package} {
		w.origin.Misbehave(kind, status(http.StatusInternalServerError), -1)
	}
	got := w.get(t, mirrored+"index.json")
	if versions := document[map[string]map[string]any](t, got)["versions"]; len(versions) != 1 {
		t.Errorf("got %v", versions)
	}
	if !strings.Contains(got.Header().Get("Warning"), "the origin registry responded with 500 Internal Server Error, so its versions are missing") || w.last().Stale == nil {
		t.Errorf("not marked as stale: %v", got.Header())
	}
	document[any](t, w.get(t, mirrored+"1.0.0.json"))
	before := w.origin.Requests()[origintest.Versions]
	for _, path := range []string{mirrored + "1.2.0.json", archiveOf("1.2.0", plan9)} {
		if got := w.get(t, path); got.Code != http.StatusBadGateway || !strings.Contains(got.Body.String(), "the origin registry registry.opentofu.org responded with 500 Internal Server Error; ") {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if other := w.get(t, "/mirror/registry.opentofu.org/acme/other/index.json"); other.Code != http.StatusBadGateway {
		t.Errorf("missing provider: got %d %s", other.Code, other.Body)
	}
	w.get(t, mirrored+"index.json")
	if n := w.origin.Requests()[origintest.Versions] - before; n > 9 {
		t.Errorf("%d further lists were requested", n)
	}
}

// TestPullThroughAbsent checks that a version that is missing at the origin is not
// found.
func TestPullThroughAbsent(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout)
	w.offer(t, "1.2.0", 1000)
	for _, path := range []string{
		"/mirror/registry.opentofu.org/acme/other/index.json", mirrored + "9.9.9.json", archiveOf("9.9.9", plan9),
		strings.ReplaceAll(archiveOf("1.2.0", plan9), "plan9_mips", "beos_mips"),
	} {
		if got := w.get(t, path); got.Code != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if len(w.stages()) != 0 {
		t.Errorf("events: %v", w.stages())
	}
}

// TestPullThroughPatterns checks that nothing is pulled for providers that match no
// pattern, for callers without access, or for HEAD requests.
func TestPullThroughPatterns(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout, guarded(t))
	w.offer(t, "1.2.0", 1000)
	for path, code := range map[string]int{
		"/mirror/registry.opentofu.org/other/rocket/index.json": http.StatusUnauthorized,
		mirrored + "index.json":                                 http.StatusUnauthorized,
		mirrored + "1.2.0.json":                                 http.StatusUnauthorized,
		archiveOf("1.2.0", plan9):                               http.StatusUnauthorized,
	} {
		if got := w.get(t, path); got.Code != code {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if n := w.origin.Requests(); len(n) != 0 {
		t.Errorf("requests to the origin: %v", n)
	}
	open := newPullThrough(t, newLayout)
	open.offer(t, "1.2.0", 1000)
	for _, path := range []string{"/mirror/registry.opentofu.org/other/rocket/index.json", "/mirror/example.com/acme/rocket/index.json"} {
		if got := open.get(t, path); got.Code != http.StatusNotFound {
			t.Errorf("%s: got %d %s", path, got.Code, got.Body)
		}
	}
	if n := open.origin.Requests(); len(n) != 0 {
		t.Errorf("requests to the origin: %v", n)
	}
	if got := open.ask(t, http.MethodHead, archiveOf("1.2.0", plan9)); got.Code != http.StatusOK || got.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: got %d %v", got.Code, got.Header())
	}
	if len(open.stages()) != 0 {
		t.Errorf("events: %v", open.stages())
	}
}

// TestPullThroughRegistry checks that the registry protocol returns the publisher's
// signature both before and after the release is mirrored.
func TestPullThroughRegistry(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1000)
	type packages struct {
		DownloadURL  string `json:"download_url"`
		SumsURL      string `json:"shasums_url"`
		SignatureURL string `json:"shasums_signature_url"`
		Sum          string `json:"shasum"`
		SigningKeys  any    `json:"signing_keys"`
	}
	versions := document[struct{ Versions []struct{ Version string } }](t, w.get(t, "/v1/providers/acme/rocket/versions"))
	if len(versions.Versions) != 1 || versions.Versions[0].Version != "1.2.0" {
		t.Fatalf("got %+v", versions)
	}
	const path = "/v1/providers/acme/rocket/1.2.0/download/plan9/mips"
	before := document[packages](t, w.get(t, path))
	if before.Sum != digest.FromBytes(zips[plan9]).Encoded() {
		t.Errorf("got %+v", before)
	}
	documents := map[string]string{}
	for _, at := range []string{before.SumsURL, before.SignatureURL} {
		documents[at] = w.get(t, strings.TrimPrefix(at, "https://tofu.example.com")).Body.String()
	}
	got := w.get(t, strings.TrimPrefix(before.DownloadURL, "https://tofu.example.com"))
	ok(t, got.Code, "")
	w.end(t)
	w.checkComplete(t, "1.2.0")
	if diff := cmp.Diff(before, document[packages](t, w.get(t, path))); diff != "" {
		t.Errorf("the package afterwards (-before +after):\n%s", diff)
	}
	for at, text := range documents {
		if now := w.get(t, strings.TrimPrefix(at, "https://tofu.example.com")).Body.String(); now != text || text == "" {
			t.Errorf("%s differs", at)
		}
	}
	if versions := document[struct{ Versions []struct{ Platforms []any } }](t, w.get(t, "/v1/providers/acme/rocket/versions")).Versions; len(versions) != 1 || len(versions[0].Platforms) != 2 {
		t.Errorf("got %+v", versions)
	}
}

// TestPullThroughAlreadyStored checks a version that another process has stored in the
// repository. The server sends it from the repository, regardless of the origin.
func TestPullThroughAlreadyStored(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry)
	w.offer(t, "1.2.0", 1000)
	document[any](t, w.get(t, mirrored+"index.json"))
	r := rocket{version: "1.2.0"}
	w.push(t, r) // another process pushes different content
	got := w.get(t, archiveOf("1.2.0", plan9))
	if e := w.end(t); e.Status != "unchanged" || got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), r.zipOf(plan9)) {
		t.Errorf("got %d %s, told %+v", got.Code, got.Body, e)
	}
	if w.origin.Requests()[origintest.Zip] != 0 {
		t.Error("fetched a zip")
	}
}

// TestPullThroughReplicas checks that two servers can mirror the same release.
func TestPullThroughReplicas(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1000)
	document[any](t, w.get(t, mirrored+"index.json"))
	other := w.replica(t)
	got := httptest.NewRecorder()
	other.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), http.MethodGet, archiveOf("1.2.0", plan9), nil))
	ok(t, got.Code, got.Body.String())
	w.end(t)
	// The replica hasn't cached the release, so it reads the release from the
	// repository.
	again := w.get(t, archiveOf("1.2.0", plan9))
	ok(t, again.Code, again.Body.String())
	if e := w.end(t); e.Status != "unchanged" || !bytes.Equal(again.Body.Bytes(), zips[plan9]) {
		t.Errorf("events: %+v", e)
	}
	if n := w.origin.Requests()[origintest.Zip]; n != 2 {
		t.Errorf("fetched %d zips", n)
	}
}

// TestPullThroughRegistryRejects checks that the client receives its zip even if the
// repository rejects the release. The repository then doesn't contain the release.
func TestPullThroughRegistryRejects(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newRegistry)
	zips := w.offer(t, "1.2.0", 1000)
	w.registry.Misbehave(registrytest.ManifestPut, status(http.StatusForbidden), -1)
	got := w.get(t, archiveOf("1.2.0", plan9))
	if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), zips[plan9]) {
		t.Errorf("got %d", got.Code)
	}
	if e := w.end(t); e.Stage != pullthrough.StageFailed {
		t.Errorf("events: %+v", e)
	}
	w.checkAbsent(t, "1.2.0")
}

// TestPullThroughAge checks that versions that are too young are not listed, so that
// clients choose older versions. If a client requests a version that is too young, the
// error contains the date when the version becomes available.
func TestPullThroughAge(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout, func(o *serve.Options) { o.PullThrough.Cooldown.MinAge = 72 * time.Hour })
	w.clock.Forward(time.Since(w.clock.Now()).Truncate(time.Second)) // an origin has no dates in the future
	start := w.clock.Now().UTC().Truncate(time.Second)
	at := func(age time.Duration) func(*origintest.Release) {
		return func(r *origintest.Release) { r.Modified = start.Add(-age) }
	}
	w.offer(t, "1.0.0", 1000, at(72*time.Hour))
	w.offer(t, "1.0.1", 1000, at(71*time.Hour))
	w.offer(t, "1.1.0", 1000, at(time.Hour))
	w.offer(t, "1.1.1", 1000, at(time.Minute))
	listed := func() []string {
		t.Helper()
		return slices.Sorted(maps.Keys(document[map[string]map[string]any](t, w.get(t, mirrored+"index.json"))["versions"]))
	}
	if diff := cmp.Diff([]string{"1.0.0"}, listed()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	link := document[archives](t, w.get(t, mirrored+"1.0.1.json")).Archives[plan9.String()].URL
	if !strings.Contains(link, "acme_rocket_1.0.1_is_held_back_until_"+start.Add(time.Hour).Format(time.RFC3339)+"__because_it_was_published_on_"+start.Add(-71*time.Hour).Format(time.RFC3339)+"/") {
		t.Errorf("got %s", link)
	}
	if got := w.get(t, archiveOf("1.0.1", plan9)); got.Code != http.StatusForbidden {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	w.clock.Forward(time.Hour)
	if diff := cmp.Diff([]string{"1.0.0", "1.0.1"}, listed()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	got := w.get(t, archiveOf("1.0.1", plan9))
	ok(t, got.Code, got.Body.String())
	w.end(t)
}

// TestPullThroughNoDate checks that clients learn the reason if no version is available.
func TestPullThroughNoDate(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newPullThrough(t, newLayout, func(o *serve.Options) { o.PullThrough.Cooldown.MinAge = time.Hour })
	w.offer(t, "1.0.0", 1000)
	if versions := document[map[string]map[string]any](t, w.get(t, mirrored+"index.json"))["versions"]; len(versions) != 1 {
		t.Errorf("got %v", versions)
	}
	link := document[archives](t, w.get(t, mirrored+"1.0.0.json")).Archives[plan9.String()].URL
	if !strings.Contains(link, "1.0.0_is_held_back__because_its_origin_has_no_publication_date") {
		t.Errorf("got %s", link)
	}
}

// TestPullThroughPending checks that pending and denied versions are not pulled.
func TestPullThroughPending(t *testing.T) {
	t.Parallel()
	for tag, why := range map[string]string{"pending-1.2.0": "1.2.0 is pending approval", "denied-1.2.0": "1.2.0 is denied"} {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			checkDecidedVersion(t, tag, why)
		})
	}
}

// checkDecidedVersion checks the responses for a version with a pending or denied tag.
func checkDecidedVersion(t *testing.T, tag, why string) {
	t.Helper()
	w := newPullThrough(t, newLayout)
	w.offer(t, "1.2.0", 1000)
	w.push(t, rocket{version: "1.0.0"})
	w.tag(t, "1.0.0", tag)
	if versions := document[map[string]map[string]any](t, w.get(t, mirrored+"index.json"))["versions"]; len(versions) != 1 {
		t.Errorf("got %v", versions)
	}
	if got := w.get(t, archiveOf("1.2.0", plan9)); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), why) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	w.checkAbsent(t, "1.2.0")
}

// TestPullThroughDocuments checks that mirrored releases get SBOMs and attestations, and
// that releases without attestations are refused if attestations are required.
func TestPullThroughDocuments(t *testing.T) {
	t.Parallel()
	w := newPullThrough(t, newLayout)
	hosted := origintest.NewGitHub(w.origin)
	host := registrytest.Serve(t, w.originCA, hosted)
	github, err := origin.GitHubFromEnv(hosted.Env(host, ""))
	if err != nil {
		t.Fatal(err)
	}
	w.pulls.Source = origin.New(origin.Options{
		HTTP: registrytest.Client(t, w.originCA), GitHub: github, Lifetime: time.Nanosecond,
		Services: map[svchost.Hostname]string{provider.DefaultHost: "https://" + host + "/v1/providers/"},
	})
	w.pulls.Publish.Attestations, w.pulls.Publish.AutoSBOM = publish.AttestationsRequire, true
	server := w.replica(t)
	install := func(version string) int {
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, archiveOf(version, plan9), nil))
		return rec.Code
	}
	zips := w.offer(t, "1.2.0", 1000)
	bundle := origintest.Bundle("https://slsa.dev/provenance/v1", digest.FromBytes(zips[plan9]), digest.FromBytes(zips[haiku]))
	for p := range zips {
		hosted.Serve("/files/acme/rocket/1.2.0/terraform-provider-rocket_1.2.0_"+p.String()+".zip.sigstore.json", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(bundle) })
	}
	if code := install("1.2.0"); code != http.StatusOK {
		t.Fatalf("got %d", code)
	}
	w.end(t)
	w.checkComplete(t, "1.2.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) { return w.repo, nil })
	r, err := src.Release(t.Context(), nouns.Address(t, "acme/rocket"), nouns.Version(t, "1.2.0"))
	if err == nil {
		r, err = provider.WithAttestations(t.Context(), src, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Packages {
		for _, kind := range []provider.DocumentKind{provider.KindSBOM, provider.KindSigstore} {
			if !slices.ContainsFunc(p.Documents, func(d provider.Document) bool { return d.Kind == kind }) {
				t.Errorf("%s has no document of the kind %s", p.Filename, kind)
			}
		}
	}
	w.offer(t, "1.3.0", 1000)
	if code := install("1.3.0"); code == http.StatusOK {
		t.Error("a release without attestations was served")
	}
	w.end(t)
	w.checkAbsent(t, "1.3.0")
}
