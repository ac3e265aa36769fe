package sync_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var histories = flag.Int("histories", 8, "the number of random histories; make nightly runs 500")

// TestRunsWithFaults runs random histories in which declarations change, time passes,
// requests fail, and runs are canceled or run twice. It checks that, after each run,
// every tag is complete and only tags that the plan removes are gone. It also checks
// that the last runs, which have no faults, succeed.
func TestRunsWithFaults(t *testing.T) {
	t.Parallel()
	for worker := range 4 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for seed := worker; seed < *histories && !t.Failed(); seed += 4 {
				// A subtest closes its servers at the end, which bounds the number of open files.
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					h := newHistory(t, seed)
					for range 6 {
						h.round(t)
					}
					h.finish(t)
				})
			}
		})
	}
}

type history struct {
	*mirrored
	seed     int
	random   *rand.Rand
	versions []string
	// locked is a version that is specified exactly.
	locked string
}

func newHistory(t *testing.T, seed int) *history {
	t.Helper()
	h := &history{mirrored: newMirrored(t, main, sync.Target{Name: "dr", From: "main"}), seed: seed}
	h.random = rand.New(rand.NewPCG(uint64(seed), 3))
	h.versions = []string{"1.0.0", "1.1.0", "1.1.1", "2.0.0"}
	h.publish(t, "rocket", h.versions...)
	h.want(t, "rocket", sync.Settings{})
	h.apply(t)
	h.change(t)
	h.check = h.pick(repository.DepthTags, repository.DepthIndex)
	h.declaration.Prune = &sync.Prune{Delete: true, KeepPrevious: h.random.IntN(2), KeepFor: day, MaxDelete: 1 + h.random.IntN(4)}
	return h
}

func (h *history) pick(depths ...repository.Depth) repository.Depth {
	return depths[h.random.IntN(len(depths))]
}

// change changes the declaration.
func (h *history) change(t *testing.T) {
	t.Helper()
	h.locked = h.versions[h.random.IntN(len(h.versions))]
	if h.random.IntN(6) == 0 {
		h.deny(t, h.versions[h.random.IntN(len(h.versions))])
	}
	s := sync.Settings{Latest: h.random.IntN(3), None: h.random.IntN(4) == 0, Stage: h.random.IntN(6) == 0}
	h.want(t, "rocket", s, []string{"", "< 2", "~> 1.1"}[h.random.IntN(3)], h.locked)
}

// fault makes some requests fail.
func (h *history) fault() string {
	kind := registrytest.Kinds[h.random.IntN(len(registrytest.Kinds))]
	times := 1 + h.random.IntN(3)
	switch h.random.IntN(9) {
	case 0:
		h.origin.Misbehave(origintest.Versions, origintest.Status(http.StatusForbidden), -1)
		return "origin down"
	case 1:
		h.registry.Misbehave(registrytest.Tags, registrytest.EditTags(func(tags []string) []string { return tags[:len(tags)/2] }), -1)
		return "truncated list"
	case 2:
		h.registry.Misbehave(registrytest.Tags, registrytest.EditTags(func(tags []string) []string { slices.Reverse(tags); return tags }), -1)
		return "reversed list"
	case 3:
		h.registry.Misbehave(registrytest.ManifestDelete, origintest.Status(http.StatusMethodNotAllowed), -1)
		return "no deletion"
	case 4:
		h.registry.Misbehave(kind, registrytest.Unanswered(), times)
		return fmt.Sprintf("%s without response", kind)
	case 5:
		h.registry.Misbehave(kind, origintest.Status(http.StatusInternalServerError), times)
		return fmt.Sprintf("%s fails", kind)
	case 6:
		h.registry.Misbehave(kind, origintest.Status(http.StatusForbidden), -1)
		return fmt.Sprintf("%s is forbidden", kind)
	case 7:
		h.registry.Misbehave(registrytest.ManifestPut, registrytest.Forget(), times)
		return "lost manifests"
	}
	return "no fault"
}

// round possibly changes the declaration, runs once or twice, and checks the
// repositories.
func (h *history) round(t *testing.T) {
	t.Helper()
	if h.random.IntN(3) == 0 {
		h.change(t)
	}
	h.now = h.now.Add(day)
	before := h.state(t)
	o, fault := h.options(), ""
	if h.random.IntN(2) == 0 {
		fault = h.fault() // the fault also affects planning
	}
	var plans []*sync.Plan
	for range 1 + h.random.IntN(3)/2 {
		p, err := sync.NewPlan(t.Context(), h.options())
		if err != nil {
			t.Fatalf("seed %d: %v", h.seed, err)
		}
		plans = append(plans, p)
	}
	if fault == "" {
		fault = h.fault()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if h.random.IntN(4) == 0 {
		fault += ", canceled"
		o.OnResult = func(sync.Result) { cancel() }
	}
	done := make(chan struct{})
	for i, p := range plans {
		options := h.options()
		if i == 0 {
			options = o
		}
		go func() { _ = p.Apply(ctx, options); done <- struct{}{} }()
	}
	for range plans {
		<-done
	}
	h.registry.Behave()
	h.origin.Behave()
	h.checkState(t, fmt.Sprintf("seed %d (%s)", h.seed, fault), before, plans)
}

// state returns the tags of all repositories.
func (h *history) state(t *testing.T) map[string][]string {
	t.Helper()
	state := map[string][]string{}
	for _, target := range h.declaration.Targets {
		tags, err := h.repository(t, target.Name+"/rocket").Tags(t.Context())
		if err == nil {
			state[target.Name] = tags
		}
	}
	return state
}

// checkState checks the repositories after a run.
func (h *history) checkState(t *testing.T, name string, before map[string][]string, plans []*sync.Plan) {
	t.Helper()
	after := h.state(t)
	for target, tags := range before {
		for _, tag := range tags {
			version := strings.TrimPrefix(strings.TrimPrefix(tag, "pruned-"), "pending-")
			denied := slices.ContainsFunc(h.declaration.Denials, func(d sync.Denial) bool { return d.Versions.String() == version })
			switch {
			case slices.Contains(after[target], tag):
			case tag == "pending-"+version && slices.Contains(after[target], version): // the same index
			case !namedBy(plans, target, version):
				t.Fatalf("%s: the tag %s in %s is gone: %v → %v", name, tag, target, tags, after[target])
			case tag == h.locked && !denied:
				t.Fatalf("%s: the locked version %s in %s is gone: %v → %v", name, tag, target, tags, after[target])
			}
		}
	}
	for target, tags := range after {
		repo := h.repository(t, target+"/rocket")
		for _, tag := range tags {
			if _, isVersion := artifact.ParseTag(tag); !isVersion {
				continue
			}
			i, err := repository.Inspect(t.Context(), repo, tag, repository.DepthBlobs)
			if err != nil || i.Dangling || slices.ContainsFunc(i.Index.Platforms(), func(p provider.Platform) bool { return !i.At(p).IsIntact() }) {
				t.Fatalf("%s: the tag %s in %s is incomplete: %+v, %v", name, tag, target, i, err)
			}
		}
	}
}

// namedBy reports whether a plan contains an action that can remove a tag of a version.
func namedBy(plans []*sync.Plan, target, version string) bool {
	for _, p := range plans {
		for _, a := range p.Actions {
			switch a.Kind {
			case sync.PruneTag, sync.Delete, sync.Deny, sync.Restore:
				if a.Target == target && artifact.Tag(a.Version) == version {
					return true
				}
			}
		}
	}
	return false
}

// finish checks that runs without faults complete all remaining actions.
func (h *history) finish(t *testing.T) {
	t.Helper()
	h.want(t, "rocket", sync.Settings{Latest: 1}, "", "1.1.0")
	for range 20 {
		p, o := h.plan(t)
		if !p.HasChanges() && !slices.ContainsFunc(p.Actions, func(a sync.Action) bool { return a.Kind == sync.Hold }) {
			return
		}
		h.now = h.now.Add(day)
		if _, results := applied(t, p, o); len(results) > 0 {
			for _, r := range results {
				if r.Err != nil {
					t.Fatalf("seed %d: %s %s %s: %v", h.seed, r.Action.Kind, r.Action.Target, r.Action.Tag, r.Err)
				}
			}
		}
	}
	p, _ := h.plan(t)
	t.Fatalf("seed %d: the runs never end: %+v", h.seed, p.Actions)
}
