package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// syncFaults contains faults that affect only sync. Each fault has either the list
// origin or the list registry.
var syncFaults = []faultCase{
	{name: "origin lists fewer versions", origin: versionLists, fault: editing(fewer("versions"))},
	{name: "origin lists no versions", origin: versionLists, fault: always(origintest.Document("application/json", `{"versions":[]}`))},
	{name: "origin fails to list versions", origin: versionLists, fault: always(origintest.Status(http.StatusInternalServerError))},
	{name: "origin doesn't know the provider", origin: versionLists, fault: always(origintest.Status(http.StatusNotFound))},
	{name: "registry lists tags in another order", registry: tagLists, fault: editing(shuffled)},
	{name: "registry lists fewer tags", registry: tagLists, fault: editing(fewer("tags"))},
	{name: "registry lists no tags", registry: tagLists, fault: always(origintest.Document("application/json", `{"name":"acme/thing","tags":null}`))},
	{name: "registry denies the list of tags", registry: tagLists, fault: always(registrytest.Refuse(http.StatusForbidden, "DENIED", "no"))},
	{name: "registry fails to list tags", registry: tagLists, fault: always(origintest.Status(http.StatusInternalServerError))},
	{name: "registry ends the list of tags early", registry: tagLists, fault: always(origintest.Short(20))},
	{name: "registry answers late", registry: slices.Concat(tagLists, manifests, deletes, puts), fault: always(late)},
	{name: "registry doesn't find manifests", registry: manifests, fault: always(registrytest.Refuse(http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown"))},
	{name: "registry fails to send manifests", registry: manifests, fault: always(origintest.Status(http.StatusInternalServerError))},
	{name: "registry refuses deletions", registry: deletes, fault: always(origintest.Status(http.StatusMethodNotAllowed))},
	{name: "registry forbids deletions", registry: deletes, fault: always(registrytest.Refuse(http.StatusForbidden, "DENIED", "no"))},
	{name: "registry fails to delete", registry: deletes, fault: always(origintest.Status(http.StatusInternalServerError))},
	{name: "registry deletes and doesn't answer", registry: deletes, fault: always(registrytest.Unanswered())},
	{name: "registry only says that it deletes", registry: deletes, fault: always(origintest.Status(http.StatusAccepted))},
	{name: "registry refuses manifests", registry: puts, fault: always(registrytest.Refuse(http.StatusForbidden, "DENIED", "no"))},
	{name: "registry has no referrers", registry: []registrytest.Kind{registrytest.Referrers}, fault: always(origintest.Status(http.StatusInternalServerError))},
}

var (
	versionLists = []origintest.Kind{origintest.Versions}
	tagLists     = []registrytest.Kind{registrytest.Tags}
	manifests    = []registrytest.Kind{registrytest.ManifestGet, registrytest.ManifestHead}
	deletes      = []registrytest.Kind{registrytest.ManifestDelete}
)

// late handles a request after a delay of more than half of the client's timeout.
func late(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
	select {
	case <-time.After(20 * time.Second):
		honest(w, r)
	case <-r.Context().Done():
	}
}

// editing returns a fault that edits a JSON object in honest responses. n seeds the
// random changes.
func editing(edit func(r *rand.Rand, document map[string]any)) func(*world, int64) origintest.Fault {
	return after(func(n int64) origintest.Fault {
		return func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			recorded := httptest.NewRecorder()
			honest(recorded, r)
			var document map[string]any
			if recorded.Code != http.StatusOK || json.Unmarshal(recorded.Body.Bytes(), &document) != nil {
				w.WriteHeader(recorded.Code)
				_, _ = io.Copy(w, recorded.Body)
				return
			}
			edit(rand.New(rand.NewPCG(uint64(n), 4)), document)
			for _, name := range []string{"Content-Type", "Link"} {
				if value := recorded.Header().Get(name); value != "" {
					w.Header().Set(name, value)
				}
			}
			text, _ := json.Marshal(document)
			_, _ = w.Write(text)
		}
	})
}

// fewer returns an edit that removes random entries from a list.
func fewer(name string) func(*rand.Rand, map[string]any) {
	return func(r *rand.Rand, document map[string]any) {
		list, _ := document[name].([]any)
		document[name] = slices.DeleteFunc(list, func(any) bool { return r.IntN(2) == 0 })
	}
}

func shuffled(r *rand.Rand, document map[string]any) {
	list, _ := document["tags"].([]any)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// versionShapes returns the shapes of n versions.
func versionShapes(n int) []shape {
	var all []shape
	for i := range n * len(platforms) {
		all = append(all, shape{size: 500 + i})
	}
	return all
}

// eachKind runs a test twice: with main in a registry, and with main as an image
// layout.
func eachKind(t *testing.T, test func(t *testing.T, layout bool)) {
	t.Helper()
	for name, layout := range map[string]bool{"registry": inRegistry, "layout": inLayout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, layout)
		})
	}
}

// aging returns a world with a version in each state. 1.0.0 can be deleted, and 1.1.0
// can be pruned. 1.2.0 is pruned and selected again. 1.3.0 is selected, 1.4.0 will be
// denied, and 1.5.0 is missing.
func aging(t *testing.T, layout bool) (*mirrored, declaration) {
	t.Helper()
	m := newMirrored(t, nature{origin: open.origin, shapes: versionShapes(6)}, layout)
	d := declaration{latest: 10, versions: "< 1.5.0", most: 20, copies: true}
	run := func() {
		t.Helper()
		if _, err := m.sync(t, d, repository.DepthIndex, disturbance{}); err != nil {
			t.Fatal(err)
		}
		m.wait(keepFor + time.Hour)
	}
	run()
	d.versions = "!= 1.0.0, != 1.2.0, < 1.5.0"
	run() // marks 1.0.0 and 1.2.0
	run() // prunes 1.0.0 and 1.2.0
	d.versions = "!= 1.0.0, != 1.1.0, != 1.2.0, < 1.5.0"
	d.report = true
	run() // marks 1.1.0
	return m, declaration{latest: 10, versions: "!= 1.0.0, != 1.1.0", denied: []string{"1.4.0"}, most: 20, copies: true}
}

// checkAged checks the result of a complete run in the world that aging returns.
func checkAged(t *testing.T, m *mirrored) {
	t.Helper()
	for _, target := range []string{mainTarget, drTarget} {
		tags, _ := m.state(t, target)
		want := "1.2.0 1.3.0 1.5.0 denied-1.4.0 pruned-1.1.0 tofu-oci-sync"
		kept := slices.DeleteFunc(slices.Sorted(maps.Keys(tags)), func(tag string) bool { return strings.HasPrefix(tag, "sha256-") })
		if got := strings.Join(kept, " "); got != want {
			t.Errorf("%s has the tags %s, want %s", target, got, want)
		}
	}
}

// TestSyncKilled kills a run before or after each request, and checks that the next run
// completes.
func TestSyncKilled(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, layout bool) {
		var requests int64
		synctest.Test(t, func(t *testing.T) {
			m, d := aging(t, layout)
			var err error
			if requests, err = m.sync(t, d, repository.DepthIndex, disturbance{}); err != nil {
				t.Error(err)
			}
			checkAged(t, m)
		})
		step := int64(1) // used with many random series
		switch {
		case testing.Short():
			step = requests / 3
		case *seeds < 500:
			step = requests / 15
		}
		t.Logf("%d requests", requests)
		for k := int64(1); k <= requests; k += step {
			for _, answered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d/%t", k, answered), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						m, d := aging(t, layout)
						_, err := m.sync(t, d, repository.DepthIndex, disturbance{kill: k, answered: answered})
						t.Logf("ended in: %v", err)
						m.completeSync(t, d)
						if t.Failed() {
							return
						}
						checkAged(t, m)
					})
				})
			}
		}
	})
}

// TestSyncFaults tests each fault individually, once and permanently, and checks that
// the next run completes.
func TestSyncFaults(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachKind(t, func(t *testing.T, layout bool) {
		for _, x := range syncFaults {
			for _, times := range []int{1, ever} {
				t.Run(fmt.Sprintf("%s/%d", x.name, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						m, d := aging(t, layout)
						x.arm(m.world, 1, 0, times)
						_, err := m.sync(t, d, repository.DepthIndex, disturbance{unreliable: true})
						t.Logf("ended in: %v", err)
						m.completeSync(t, d)
					})
				})
			}
		}
	})
}

// TestSyncExtendedConcurrently covers a version that a second run extends after the first
// run has planned to prune it. The version must not be pruned.
func TestSyncExtendedConcurrently(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, layout bool) {
		synctest.Test(t, func(t *testing.T) {
			m := newMirrored(t, nature{origin: open.origin, shapes: versionShapes(2)}, layout)
			some, all := platforms[:1], declaration{latest: 2, most: 20}
			both := declaration{latest: 2, most: 20, platforms: some}
			newest := declaration{latest: 1, most: 20, platforms: some}
			for _, d := range []declaration{both, newest} {
				if _, err := m.sync(t, d, repository.DepthIndex, disturbance{}); err != nil {
					t.Fatal(err)
				}
				m.wait(keepFor + time.Hour)
			}
			var extended digest.Digest
			_, err := m.sync(t, newest, repository.DepthIndex, disturbance{other: func() {
				if _, err := m.sync(t, all, repository.DepthIndex, disturbance{}); err != nil {
					t.Error(err)
				}
				tags, _ := m.state(t, mainTarget)
				extended = tags["1.0.0"]
			}})
			tags, _ := m.state(t, mainTarget)
			if err == nil || tags["1.0.0"] != extended || extended == "" || tags.has("pruned-1.0.0") {
				t.Errorf("got %v, and the tags %v, want 1.0.0 at %s", err, tags, extended)
			}
			m.completeSync(t, all)
		})
	})
}

// TestSyncRandom combines declarations, faults, lost content, killed runs, and
// concurrent runs at random. To run only a failed seed:
//
//	go test ./internal/testing/faults -run 'TestSyncRandom/seed=123$'
func TestSyncRandom(t *testing.T) {
	t.Parallel()
	n := *seeds
	if testing.Short() {
		n = min(n, 4)
	}
	for seed := range n {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { syncMisfortune(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func syncMisfortune(t *testing.T, r *rand.Rand) {
	t.Helper()
	yes := func(percent int) bool { return r.IntN(100) < percent }
	n := nature{origin: origintest.Options{ETags: yes(50), NoPackages: yes(50)}, shapes: versionShapes(3 + r.IntN(4))}
	n.registry = registrytest.Options{Username: "user", Password: password, Bearer: yes(30), DeletesManifests: yes(30), NoMount: yes(30)}
	if yes(30) {
		n.registry.PageSize = 1 + r.IntN(4)
	}
	if yes(20) {
		n.registry.NoReferrers = http.StatusNotFound
	}
	if yes(10) {
		n.registry.NoDelete = http.StatusMethodNotAllowed
	}
	m := newMirrored(t, n, yes(40))
	t.Logf("layout: %t, %+v", m.layout, n.registry)
	d := m.randomDeclaration(r, nil)
	for range 3 + r.IntN(5) {
		if yes(50) {
			d = m.randomDeclaration(r, d.denied)
		}
		if yes(25) {
			m.loseRandomly(t, r)
		}
		x, faulty := m.randomDisturbance(t, r, d)
		check := []repository.Depth{repository.DepthTags, repository.DepthIndex, repository.DepthBlobs}[r.IntN(3)]
		t.Logf("%+v, level %s, %+v", d, check, faulty)
		if x.other == nil && faulty == "" {
			_, _ = m.sync(t, d, repository.DepthBlobs, x)
		} else {
			_, _ = m.sync(t, d, check, x)
		}
		m.wait(time.Duration(r.Int64N(int64(2 * keepFor))))
	}
	m.completeSync(t, d)
}

// randomDisturbance arms random faults. It returns a random disturbance and a
// description.
func (m *mirrored) randomDisturbance(t *testing.T, r *rand.Rand, d declaration) (x disturbance, description string) {
	t.Helper()
	switch r.IntN(10) {
	case 0, 1, 2:
		x.kill, x.answered = 1+r.Int64N(60), r.IntN(2) == 0
		description = fmt.Sprintf("killed at %d (%t)", x.kill, x.answered)
	case 3:
		x.otherAt = r.Int64N(40)
		other := m.randomDeclaration(r, d.denied)
		x.other = func() {
			t.Logf("meanwhile: %+v", other)
			_, _ = m.sync(t, other, repository.DepthIndex, disturbance{other: func() {}})
		}
		return x, fmt.Sprintf("another run at %d", x.otherAt)
	}
	for range r.IntN(3) {
		f := syncFaults[r.IntN(len(syncFaults))]
		if r.IntN(3) == 0 {
			f = faultCases[r.IntN(len(faultCases))]
		}
		if f.dial != nil || f.login {
			continue
		}
		n, skip, times := r.Int64N(1000), r.IntN(8), 1+r.IntN(4)
		if r.IntN(4) == 0 {
			times = ever
		}
		f.arm(m.world, n, skip, times)
		x.unreliable = true
		description += fmt.Sprintf("; %s (%d), %d times after %d", f.name, n, times, skip)
	}
	return x, description
}

// randomDeclaration returns a random declaration. Denied versions remain denied.
func (m *mirrored) randomDeclaration(r *rand.Rand, denied []string) declaration {
	all := m.goods.versions()
	pick := func() string { return all[r.IntN(len(all))] }
	d := declaration{latest: r.IntN(len(all) + 1), keep: r.IntN(2), most: []int{1, 2, 20, 20}[r.IntN(4)], report: r.IntN(6) == 0, copies: r.IntN(3) > 0, denied: slices.Clone(denied)}
	d.versions = []string{"", "", ">= " + pick(), "<= " + pick(), "!= " + pick()}[r.IntN(5)]
	if r.IntN(3) == 0 {
		d.platforms = platforms[:1]
	}
	if r.IntN(3) == 0 && d.versions == "" {
		d.locked = []string{pick()}
	}
	if v := pick(); r.IntN(6) == 0 && !slices.Contains(denied, v) {
		d.denied = append(d.denied, v)
	}
	return d
}

// loseRandomly deletes the index or a manifest of a random tag in main.
func (m *mirrored) loseRandomly(t *testing.T, r *rand.Rand) {
	t.Helper()
	tags, g := m.state(t, mainTarget)
	names := slices.Sorted(maps.Keys(tags))
	names = slices.DeleteFunc(names, func(tag string) bool { return strings.HasPrefix(tag, "denied-") || strings.HasPrefix(tag, "sha256-") })
	if len(names) == 0 {
		return
	}
	tag := names[r.IntN(len(names))]
	lost := tags[tag]
	var c content
	if json.Unmarshal(g(lost.String()), &c) == nil && len(c.Manifests) > 0 && r.IntN(3) > 0 {
		lost = c.Manifests[r.IntN(len(c.Manifests))].Digest
	}
	t.Logf("lost: %s of %s", lost, tag)
	m.lose(t, mainTarget, lost)
}
