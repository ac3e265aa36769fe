package sync

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var worlds = flag.Int("worlds", 500, "the number of random plans; make nightly runs 100000")

// TestPlanProperties creates plans for random declarations, states, and faults. It
// checks rules that apply to every plan.
func TestPlanProperties(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for seed := worker; seed < *worlds && !t.Failed(); seed += workers {
				checkPlan(t, seed, pool)
			}
		})
	}
}

func checkPlan(t *testing.T, seed int, pool *pool) {
	t.Helper()
	w := pool.world(rand.New(rand.NewPCG(uint64(seed), 1)))
	actions := w.plan()
	fail := func(a Action, problem string) {
		t.Fatalf("seed %d: %s %s %s %s (%s): %s\n%s", seed, a.Kind, a.Provider, a.Target, a.Tag, a.Reason, problem, w)
	}
	if diff := cmp.Diff(describe(actions), describe(w.plan())); seed%8 == 0 && diff != "" {
		t.Fatalf("seed %d: two plans differ: %s", seed, diff)
	}
	removals, failed, limited := 0, w.problems, false
	for _, p := range w.providers {
		failed = failed || p.err != nil && p.wanted.needsVersions()
	}
	for _, a := range actions {
		limited = limited || a.Kind == Hold && a.Eligible.IsZero()
		if a.Kind.Changes() && a.Kind != Deny && len(w.provider(a).wanted.Requirements) == 0 {
			fail(a, "nothing selects the provider")
		}
		switch a.Kind {
		case PruneTag, Delete, Mark:
			if a.Kind != Mark {
				removals++
			}
			if failed {
				fail(a, "something failed")
			}
			if problem := w.mustStay(a); problem != "" {
				fail(a, problem)
			}
		case Deny:
			if !w.target(a).tags[artifact.DeniedTag(a.Version)] {
				removals++
			}
			if w.problems {
				fail(a, "something failed")
			}
		case Mirror, Copy, Stage, Restore:
			if problem := w.mustNotArrive(a); problem != "" {
				fail(a, problem)
			}
		}
	}
	if limit := w.shard.part(w.limit()); removals > limit {
		t.Fatalf("seed %d: %d removals, and the limit is %d\n%s", seed, removals, limit, describe(actions))
	}
	w.checkKept(t, seed, actions)
	// After the actions, a new plan only prunes what the arrived versions displace. After
	// that, a plan contains no changes.
	w.apply(actions)
	again := w.plan()
	for _, a := range again {
		limited = limited || a.Kind == Hold && a.Eligible.IsZero()
		if a.Kind.Changes() && a.Kind.phase() == 0 && !limited {
			fail(a, "another plan changes more than pruned versions, after "+describe(actions))
		}
	}
	w.apply(again)
	if last := w.plan(); hasChanges(last) && !limited {
		t.Fatalf("seed %d: a third plan has changes\n%s\nafter\n%s\n%s", seed, describe(last), describe(again), w)
	}
}

func (w *world) limit() int {
	if w.declaration.Prune == nil {
		return defaultMaxDelete
	}
	return w.declaration.Prune.MaxDelete
}

func (w *world) provider(a Action) *simProvider {
	return w.providers[slices.IndexFunc(w.providers, func(p *simProvider) bool { return p.wanted.Address == a.Provider })]
}

// denies reports whether a deny block or a target denies a version.
func (w *world) denies(p *simProvider, t *simTarget, v provider.Version) bool {
	return t.tags[artifact.DeniedTag(v)] || slices.ContainsFunc(w.declaration.Denials, func(d Denial) bool { return d.Denies(p.wanted.Address, v) })
}

// mustStay explains why a version must not be marked, pruned, or deleted. If the
// version can be removed, it returns an empty string.
func (w *world) mustStay(a Action) string {
	p, t, v := w.provider(a), w.target(a), a.Version
	prune := w.declaration.Prune
	isTagged, isPruned := t.tags[artifact.Tag(v)], t.tags[artifact.PrunedTag(v)]
	switch {
	case prune == nil:
		return "nothing is to be pruned"
	case a.Kind != Mark && !prune.Delete:
		return "the mode is report"
	case w.denies(p, t, v):
		return "it is denied"
	case t.tags[artifact.PendingTag(v)]:
		return "it is pending"
	case a.Kind == PruneTag && (t.record.Unwanted[v].IsZero() || t.record.Unwanted[v].Add(prune.KeepFor).After(noon)):
		return "it was deselected too recently"
	case a.Kind == Delete && (t.record.Pruned[v].IsZero() || t.record.Pruned[v].Add(prune.KeepFor).After(noon)):
		return "it was pruned too late"
	case a.Kind == PruneTag && !isTagged, a.Kind == Delete && (isTagged || !isPruned), a.Kind == Mark && !isTagged && !isPruned:
		return "it has other tags"
	case t.err != nil || t.unlisted:
		return "the tags are unknown"
	}
	for _, r := range p.wanted.Requirements {
		if exact, is := r.Constraint.Exact(); is && exact == v {
			return "it is specified exactly"
		}
	}
	if isTagged && w.isNewest(p, t, v) {
		return "it is among the newest versions that the target has"
	}
	return ""
}

// isNewest reports whether a requirement selects a version from the versions that the
// target has.
func (w *world) isNewest(p *simProvider, t *simTarget, v provider.Version) bool {
	s := p.wanted.Settings
	if s.None {
		return false
	}
	for _, r := range p.wanted.Requirements {
		matches := func(u provider.Version) bool {
			return !w.denies(p, t, u) && (r.Constraint.Allows(u) || s.PreReleases && len(r.PreReleases([]provider.Version{u})) > 0)
		}
		newer, minor := 0, 0
		for _, u := range t.list().Tagged() {
			if matches(u) && u.Compare(v) > 0 {
				newer++
				if minorOf(u) == minorOf(v) {
					minor++
				}
			}
		}
		if matches(v) && (s.Latest == 0 || newer < s.Latest) && (s.PerMinor == 0 || minor < s.PerMinor) {
			return true
		}
	}
	return false
}

func minorOf(v provider.Version) string {
	var major, minor int
	_, _ = fmt.Sscanf(v.String(), "%d.%d", &major, &minor)
	return fmt.Sprint(major, ".", minor)
}

// mustNotArrive explains why a version must not be published. If the version can be
// published, it returns an empty string.
func (w *world) mustNotArrive(a Action) string {
	p, t, v := w.provider(a), w.target(a), a.Version
	exact, matches := false, false
	for _, r := range p.wanted.Requirements {
		pinned, is := r.Constraint.Exact()
		exact = exact || is && pinned == v
		matches = matches || r.Constraint.Allows(v) || len(r.PreReleases([]provider.Version{v})) > 0
	}
	published, exists := p.published[v]
	switch {
	case w.denies(p, t, v):
		return "it is denied"
	case !matches:
		return "nothing selects it"
	case exact:
	case p.wanted.Settings.None:
		return "nothing is selected"
	case !exists || p.err != nil:
		return "the origin does not have it"
	case (a.Kind == Mirror || a.Kind == Stage) && !t.tags[artifact.Tag(v)] && noon.Sub(published) < p.wanted.Settings.MinAge:
		return "it is too young"
	}
	if (a.Kind == Mirror || a.Kind == Copy) && p.wanted.Settings.Stage && a.Source == "" {
		return "it must be staged"
	}
	return ""
}

// checkKept checks that enough previous versions are kept.
func (w *world) checkKept(t *testing.T, seed int, actions []Action) {
	t.Helper()
	if w.declaration.Prune == nil {
		return
	}
	pruned := map[*simTarget]int{}
	for _, a := range actions {
		if a.Kind == PruneTag || a.Kind == Mark && a.Tag == artifact.Tag(a.Version) {
			pruned[w.target(a)]++
		}
	}
	for target, n := range pruned {
		if left := len(target.list().Tagged()) - n; left < 0 {
			t.Fatalf("seed %d: %d versions left", seed, left)
		}
	}
	for _, p := range w.providers {
		for _, target := range p.targets {
			if n := len(target.list().Tagged()); pruned[target] > max(n-w.declaration.Prune.KeepPrevious, 0) && w.onlyOlder(p, target, actions) {
				t.Fatalf("seed %d: %d of %d versions would be pruned, although %d are kept\n%s\n%s", seed, pruned[target], n, w.declaration.Prune.KeepPrevious, describe(actions), w)
			}
		}
	}
}

// onlyOlder reports whether only requirements for older exact versions could justify
// the removals.
func (w *world) onlyOlder(p *simProvider, target *simTarget, actions []Action) bool {
	newest := provider.NewestFirst(target.list().Tagged())[0]
	return p.wanted.Settings.None && !slices.ContainsFunc(p.wanted.Requirements, func(r Requirement) bool {
		exact, is := r.Constraint.Exact()
		return is && exact.Compare(newest) < 0
	})
}

// String describes a world in failure messages.
func (w *world) String() string {
	text := fmt.Sprintf("check %s, shard %s, problems %t, prune %+v, denials %+v\n", w.check, w.shard, w.problems, w.declaration.Prune, w.declaration.Denials)
	for _, p := range w.providers {
		text += fmt.Sprintf("%s %+v err=%v\n  requirements:", p.wanted.Address, p.wanted.Settings, p.err)
		for _, r := range p.wanted.Requirements {
			text += fmt.Sprintf(" %q", r.Constraint)
		}
		text += "\n  origin:"
		for _, v := range newestFirst(p.published) {
			text += fmt.Sprintf(" %s (%s)", v, noon.Sub(p.published[v]))
		}
		for i, t := range p.targets {
			tags := t.list()
			slices.Sort(tags)
			text += fmt.Sprintf("\n  %s: %v %v err=%v unlisted=%t statuses=%v", w.declaration.Targets[i].Name, tags, t.record, t.err, t.unlisted, t.statuses)
		}
		text += "\n"
	}
	return text
}

// pool contains the parts of random worlds.
type pool struct {
	versions    []provider.Version
	constraints []provider.Constraint
	addresses   []provider.Address
	patterns    []Pattern
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{versions: versionsOf(t, "0.0.0 1.0.0 1.0.1 1.0.2 1.1.0 1.1.1 1.2.0 2.0.0-rc1 2.0.0 2.0.1+meta 2.1.0 2.1.1 3.0.0-beta1")}
	for _, text := range []string{">= 1.0", "~> 1.0", "< 2", ">= 2, != 2.1.0", "~> 1.1.0", "> 9", "1.1.1", "2.1.0", "= 2.0.0-rc1"} {
		c, err := provider.ParseConstraint(text)
		if err != nil {
			t.Fatal(err)
		}
		p.constraints = append(p.constraints, c)
	}
	for _, text := range []string{"acme/anvil", "acme/rocket", "registry.terraform.io/acme/rocket"} {
		p.addresses = append(p.addresses, nouns.Address(t, text))
	}
	for _, text := range []string{"registry.opentofu.org/acme/vpc/aws", "registry.terraform.io/acme/vpc/aws"} {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		p.addresses = append(p.addresses, a)
	}
	for _, text := range []string{"acme/rocket", "acme/*", "*/*/*", "registry.terraform.io/*/*", "module acme/vpc/aws", "module acme/*/*", "module */*/*/*"} {
		p.patterns = append(p.patterns, pattern(t, text))
	}
	return p
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// chance returns true with a probability of 1/n.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

func (p *pool) world(r *rand.Rand) *world {
	w := &world{check: pick(r, []repository.Depth{repository.DepthTags, repository.DepthIndex}), problems: chance(r, 12)}
	w.declaration.Targets = pick(r, [][]Target{
		{{Name: "main"}}, {{Name: "main"}, {Name: "dr", From: "main"}},
		{{Name: "main"}, {Name: "other"}}, {{Name: "main"}, {Name: "dr", From: "main"}, {Name: "third", From: "dr"}},
	})
	if chance(r, 4) {
		w.shard = pick(r, []Shard{{1, 2}, {2, 2}, {3, 8}})
	}
	if !chance(r, 5) {
		w.declaration.Prune = &Prune{Delete: !chance(r, 4), KeepPrevious: r.IntN(3), KeepFor: time.Duration(1+r.IntN(90)) * day, MaxDelete: pick(r, []int{0, 1, 2, 5, 20})}
	}
	for range r.IntN(3) * r.IntN(2) {
		d := Denial{Pattern: pick(r, p.patterns), Versions: pick(r, p.constraints), Reason: "withdrawn", Position: "mirror.hcl:1"}
		w.declaration.Denials = append(w.declaration.Denials, d)
	}
	for _, i := range r.Perm(len(p.addresses))[:1+r.IntN(3)] {
		w.providers = append(w.providers, p.provider(r, w, p.addresses[i]))
	}
	return w
}

func (p *pool) provider(r *rand.Rand, w *world, a provider.Address) *simProvider {
	s := Settings{Latest: pick(r, []int{0, 1, 1, 2, 3}), PerMinor: pick(r, []int{0, 0, 1, 2}), PreReleases: chance(r, 3), None: chance(r, 8), Stage: chance(r, 5)}
	if chance(r, 2) {
		s.MinAge = 7 * day
	}
	for _, t := range w.declaration.Targets {
		if len(s.Targets) == 0 && t.Name == w.declaration.Targets[len(w.declaration.Targets)-1].Name || !chance(r, 4) {
			s.Targets = append(s.Targets, t.Name)
		}
	}
	one := &simProvider{wanted: Wanted{Address: a, Settings: s}, published: map[provider.Version]time.Time{}}
	for range 1 + r.IntN(3) {
		q := Requirement{From: "mirror.hcl:1"}
		q.Address = a
		if !chance(r, 3) {
			q.Constraint = pick(r, p.constraints)
		}
		if chance(r, 4) {
			q.Constraint, q.Locked = pick(r, p.versions).Constraint(), true
		}
		one.wanted.Requirements = append(one.wanted.Requirements, q)
	}
	if chance(r, 12) { // only deny blocks refer to this provider
		one.wanted.Requirements, one.wanted.Settings.None = nil, true
	}
	for _, v := range p.versions {
		if !chance(r, 3) {
			one.published[v] = noon.Add(-time.Duration(r.IntN(20)) * day)
		}
	}
	if chance(r, 15) {
		one.err = errors.New("origin is down")
	}
	for range w.declaration.Targets {
		one.targets = append(one.targets, p.target(r))
	}
	return one
}

func (p *pool) target(r *rand.Rand) *simTarget {
	t := newSimTarget("latest", "sha256-1234")
	for _, v := range p.versions {
		ago := func() time.Time { return noon.Add(-time.Duration(r.IntN(180)) * day) }
		for _, tag := range []struct {
			name string
			n    int
		}{{artifact.Tag(v), 2}, {artifact.PendingTag(v), 10}, {artifact.PrunedTag(v), 6}, {artifact.DeniedTag(v), 12}} {
			if chance(r, tag.n) {
				t.tags[tag.name] = true
			}
		}
		if chance(r, 2) {
			t.record.Unwanted[v] = ago()
		}
		if chance(r, 3) {
			t.record.Pruned[v] = ago()
		}
		if chance(r, 5) {
			t.statuses[v] = pick(r, []publish.Status{publish.Extended, publish.Repaired, "conflict", "failed"})
		}
	}
	t.unlisted = chance(r, 20)
	if chance(r, 20) {
		t.err = errors.New("registry is down")
	}
	return t
}

// TestPlansAreEqual checks that identical facts result in identical plans, including
// all fields of the actions.
func TestPlansAreEqual(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for seed := range 500 {
		w := pool.world(rand.New(rand.NewPCG(uint64(seed), 2)))
		first := w.plan()
		slices.Reverse(w.providers)
		if diff := cmp.Diff(first, w.plan(), cmp.AllowUnexported(Action{}), cmp.Comparer(func(a, b provider.Version) bool { return a == b }), cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}
