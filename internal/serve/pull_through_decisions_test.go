package serve_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// before adds the repositories of another world before the world's own repositories.
func before(t *testing.T, first *world) func(*serve.Options) {
	t.Helper()
	return func(o *serve.Options) { o.From = append([]template.Template{parsed(t, first.template)}, o.From...) }
}

// unchanged checks that no part of a version was pulled.
func (t *pullThroughWorld) unchanged(tb testing.TB, version string) {
	tb.Helper()
	t.checkAbsent(tb, version)
	if n := t.origin.Requests()[origintest.Zip]; n != 0 || len(t.stages()) != 0 {
		tb.Errorf("fetched %d zips, events: %v", n, t.stages())
	}
}

// TestPullThroughDecidedElsewhere checks a version that is denied or pending in one
// repository. The version is not pulled into other repositories of the same provider.
func TestPullThroughDecidedElsewhere(t *testing.T) {
	t.Parallel()
	for tag, why := range map[string]string{"denied-1.2.0": "is denied", "pending-1.2.0": "is pending approval"} {
		first := newLayout(t)
		w := newPullThrough(t, newLayout, before(t, first))
		first.push(t, rocket{version: "1.1.0"})
		w.push(t, rocket{version: "1.0.0"})
		w.tag(t, "1.0.0", tag)
		w.offer(t, "1.2.0", 1000)
		for _, path := range []string{mirrored + "index.json", "/v1/providers/acme/rocket/versions"} {
			if got := w.get(t, path); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "1.2.0") {
				t.Errorf("%s: %s: got %d %s", tag, path, got.Code, got.Body)
			}
		}
		got := w.get(t, archiveOf("1.2.0", plan9))
		if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), why) {
			t.Errorf("%s: got %d %.300s", tag, got.Code, got.Body)
		}
		w.unchanged(t, "1.2.0")
	}
}

// TestPullThroughDenialOfAnotherHost checks that a denial applies only to the provider of
// its repository.
func TestPullThroughDenialOfAnotherHost(t *testing.T) {
	t.Parallel()
	first := newLayout(t)
	w := newPullThrough(t, newLayout, before(t, first))
	first.push(t, rocket{host: privateHost, version: "1.0.0"})
	first.tag(t, "1.0.0", "denied-1.2.0")
	w.offer(t, "1.2.0", 1000)
	got := w.get(t, archiveOf("1.2.0", plan9))
	ok(t, got.Code, got.Body.String())
	w.end(t)
	w.checkComplete(t, "1.2.0")
}

// TestPullThroughNewDecision checks that a decision applies even if it is newer than
// the cached list of tags.
func TestPullThroughNewDecision(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for tag, why := range map[string]string{"denied-1.2.0": "is denied", "pending-1.2.0": "is pending approval"} {
		w := newPullThrough(t, newRegistry)
		w.push(t, rocket{version: "1.0.0"})
		w.offer(t, "1.2.0", 1000)
		link := strings.TrimPrefix(document[archives](t, w.get(t, mirrored+"1.2.0.json")).Archives[plan9.String()].URL, "../../../..")
		w.tag(t, "1.0.0", tag)
		w.clock.Forward(time.Second)
		if got := w.get(t, link); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), why) {
			t.Errorf("%s: got %d %.300s", tag, got.Code, got.Body)
		}
		w.unchanged(t, "1.2.0")
	}
}

// TestPullThroughDecidedWhileMirroring checks that a decision is effective if it is
// made before the tag is written.
func TestPullThroughDecidedWhileMirroring(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for _, tag := range []string{"denied-1.2.0", "pending-1.2.0"} {
		first := newLayout(t)
		w := newPullThrough(t, newLayout, before(t, first))
		first.push(t, rocket{version: "1.1.0"}) // releases are pulled to this repository
		w.push(t, rocket{version: "1.0.0"})
		w.offer(t, "1.2.0", 1000)
		started, blocked := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.origin.Misbehave(origintest.Zip, func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			once.Do(func() { close(started) })
			<-blocked
			honest(rw, r)
		}, -1)
		var group sync.WaitGroup
		group.Go(func() { w.get(t, archiveOf("1.2.0", plan9)) })
		<-started
		w.tag(t, "1.0.0", tag)
		w.clock.Forward(time.Second)
		close(blocked)
		group.Wait()
		if e := w.end(t); e.Stage != pullthrough.StageRefused {
			t.Errorf("%s: event: %+v", tag, e)
		}
		if tags, err := first.repo.Tags(t.Context()); err != nil || slices.Contains(tags, "1.2.0") {
			t.Errorf("%s: the repository has %v, %v", tag, tags, err)
		}
	}
}

// TestPullThroughUnknownDecision checks that nothing is pulled if tags can't be listed,
// because the release might be denied.
func TestPullThroughUnknownDecision(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	first := newLayout(t)
	w := newPullThrough(t, newRegistry, before(t, first), func(o *serve.Options) {
		open := o.Open
		o.Open = func(ref template.Reference) (repository.Reader, error) {
			if ref.IsLayout() {
				return first.open(ref)
			}
			return open(ref)
		}
	})
	first.push(t, rocket{version: "1.1.0"})
	w.offer(t, "1.2.0", 1000)
	w.registry.Misbehave(registrytest.Tags, status(http.StatusForbidden), -1)
	got := w.get(t, mirrored+"index.json")
	if got.Code != http.StatusOK || strings.Contains(got.Body.String(), "1.2.0") || got.Header().Get("Warning") == "" {
		t.Errorf("got %d %s %v", got.Code, got.Body, got.Header())
	}
	if got := w.get(t, archiveOf("1.2.0", plan9)); got.Code != http.StatusBadGateway {
		t.Errorf("got %d %.300s", got.Code, got.Body)
	}
	w.unchanged(t, "1.2.0")
}

// TestPullThroughDecidedWithoutList checks that a decision applies even if the registry
// reports a missing repository when its tags are listed.
func TestPullThroughDecidedWithoutList(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for tag, why := range map[string]string{"denied-1.2.0": "is denied", "pending-1.2.0": "is pending approval"} {
		w := newPullThrough(t, newRegistry)
		w.push(t, rocket{version: "1.0.0"})
		w.tag(t, "1.0.0", tag)
		w.offer(t, "1.2.0", 1000)
		w.registry.Misbehave(registrytest.Tags, status(http.StatusNotFound), -1)
		got := w.get(t, archiveOf("1.2.0", plan9))
		if got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), why) {
			t.Errorf("%s: got %d %.300s", tag, got.Code, got.Body)
		}
		w.unchanged(t, "1.2.0")
	}
}

// asGate is the first argument that makes the test binary act as a gate, which prints the
// second argument.
const asGate = "serve-test-gate"

// TestMain lets the test binary act as a gate, so that the tests run on every system.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asGate {
		_, _ = os.Stdout.WriteString(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// TestPullThroughGates checks that a zip is sent only if a gate allows its release, and
// that the release is refused or pending otherwise.
func TestPullThroughGates(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]struct {
		code      int
		tag, text string
	}{
		`{"verdict":"allow"}`: {http.StatusOK, "1.2.0", ""},
		`{"verdict":"deny","reason":"contains GO-2024-0001"}`: {http.StatusForbidden, "", "version is denied: contains GO-2024-0001"},
		`{"verdict":"hold","reason":"no owner"}`:              {http.StatusForbidden, "pending-1.2.0", "held by gate"},
		"crash":                                               {http.StatusForbidden, "pending-1.2.0", "the output is not a JSON object"},
	} {
		w := newPullThrough(t, newLayout, func(o *serve.Options) {
			o.PullThrough.Publish.Gates = gate.Gates{{Name: "scan", Command: []string{self, asGate, answer}, Timeout: patience.Limit}}
		})
		w.push(t, rocket{version: "1.0.0"})
		zips := w.offer(t, "1.2.0", 1000)
		got := w.get(t, archiveOf("1.2.0", plan9))
		if got.Code != want.code || !strings.Contains(got.Body.String(), want.text) || want.text == "" && !bytes.Equal(got.Body.Bytes(), zips[plan9]) {
			t.Errorf("%s: got %d %.300s", answer, got.Code, got.Body)
		}
		w.end(t)
		tags, err := w.repo.Tags(t.Context())
		tags = slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "sha256-") })
		slices.Sort(tags)
		if diff := cmp.Diff(strings.Fields("1.0.0 "+want.tag), tags); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", answer, err, diff)
		}
		if w.clock.Forward(time.Minute); want.tag != "1.2.0" {
			if got := w.get(t, mirrored+"index.json"); strings.Contains(got.Body.String(), "1.2.0") {
				t.Errorf("%s: %s", answer, got.Body)
			}
		}
	}
}
