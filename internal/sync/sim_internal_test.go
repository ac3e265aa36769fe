package sync

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

const day = 24 * time.Hour

// noon is the current time in these tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world simulates all inputs of plans.
type world struct {
	declaration Declaration
	check       repository.Depth
	shard       Shard
	problems    bool
	providers   []*simProvider
}

type simProvider struct {
	wanted    Wanted
	published map[provider.Version]time.Time
	err       error
	targets   []*simTarget
}

type simTarget struct {
	tags     map[string]bool
	record   artifact.SyncRecord
	err      error
	unlisted bool
	// statuses contains the results of checks. The default is unchanged.
	statuses map[provider.Version]publish.Status
}

func newSimTarget(tags ...string) *simTarget {
	t := &simTarget{tags: map[string]bool{}, statuses: map[provider.Version]publish.Status{}}
	t.record = artifact.SyncRecord{Unwanted: map[provider.Version]time.Time{}, Pruned: map[provider.Version]time.Time{}}
	for _, tag := range tags {
		t.tags[tag] = true
	}
	return t
}

func (t *simTarget) list() artifact.Tags { return slices.Collect(maps.Keys(t.tags)) }

// facts returns the facts about a provider.
func (w *world) facts(p *simProvider) facts {
	f := facts{wanted: p.wanted, dates: mirror.Dates{}}
	switch {
	case !p.wanted.needsVersions():
	case p.err != nil:
		f.err = p.err
	default:
		f.versions = newestFirst(p.published)
	}
	for _, t := range w.declaration.targetsOf(p.wanted.Settings) {
		at := slices.IndexFunc(w.declaration.Targets, func(o Target) bool { return o.Name == t.Name })
		sim := p.targets[at]
		f.targets = append(f.targets, targetFacts{
			name: t.Name, repository: t.Name + "/" + p.wanted.Address.Type, err: sim.err, record: sim.record, unlisted: sim.unlisted,
			from:   slices.IndexFunc(f.targets, func(o targetFacts) bool { return o.name == t.From }),
			writes: slices.Contains(p.wanted.Settings.Targets, t.Name), checks: map[provider.Version]check{},
		})
		if last := &f.targets[len(f.targets)-1]; sim.err == nil && !sim.unlisted {
			last.tags = sim.list()
		}
	}
	return f
}

// decide returns the decision for a provider.
func (w *world) decide(p *simProvider) decision {
	f := w.facts(p)
	for range 1000 {
		d := decide(f, rules{now: noon, check: w.check, denials: w.declaration.Denials, prune: w.declaration.Prune})
		if d.isComplete() {
			return d
		}
		for _, v := range d.undated {
			f.dates[v] = mirror.Date{Published: p.published[v]}
		}
		for i, versions := range d.unchecked {
			at := slices.IndexFunc(w.declaration.Targets, func(o Target) bool { return o.Name == f.targets[i].name })
			for _, v := range versions {
				f.targets[i].checks[v] = p.targets[at].checked(v, p.wanted.Settings.Stage && f.targets[i].from < 0)
			}
		}
	}
	panic("the decision never becomes complete")
}

// checked simulates a dry run.
func (t *simTarget) checked(v provider.Version, stage bool) check {
	status := t.statuses[v]
	if status == "" {
		status = publish.Unchanged
	}
	tag := artifact.Tag(v)
	if stage && !t.tags[tag] {
		tag = artifact.PendingTag(v)
	}
	c := check{plan: publish.Plan{Status: status, Tag: tag, From: digestOf(tag)}}
	switch {
	case t.tags[artifact.DeniedTag(v)]:
		c.plan.Status = publish.Denied
	case status == "conflict":
		c.err = &repository.ConflictError{Release: v.String(), Reasons: []string{"other zips"}}
	case status == "failed":
		c.err = errors.New("registry is down")
	case !t.tags[tag]:
		c.plan.Status, c.plan.From = publish.Created, ""
	case status == publish.Extended && stage && t.tags[artifact.Tag(v)]:
		c.plan.Tag, c.plan.From = artifact.PendingTag(v), ""
		if t.tags[artifact.PendingTag(v)] {
			c.plan.Status = publish.Unchanged
		}
	}
	return c
}

func digestOf(tag string) digest.Digest { return digest.FromString(tag) }

// plan returns the actions for all providers.
func (w *world) plan() []Action {
	var actions []Action
	var order []string
	for _, t := range w.declaration.Targets {
		order = append(order, t.Name)
	}
	for _, p := range w.providers {
		actions = append(actions, w.decide(p).actions...)
	}
	return applyRunLimits(actions, &w.declaration, w.shard, w.problems, order)
}

// target returns the target of an action.
func (w *world) target(a Action) *simTarget {
	for _, p := range w.providers {
		if p.wanted.Address == a.Provider {
			return p.targets[slices.IndexFunc(w.declaration.Targets, func(o Target) bool { return o.Name == a.Target })]
		}
	}
	panic("no such target")
}

// apply simulates applying actions without failures.
func (w *world) apply(actions []Action) {
	for _, a := range actions {
		if !a.Kind.Changes() {
			continue
		}
		t, v := w.target(a), a.Version
		tag, pending, pruned := artifact.Tag(v), artifact.PendingTag(v), artifact.PrunedTag(v)
		switch a.Kind {
		case Mirror, Copy, Extend, Repair:
			t.tags[tag] = true
			delete(t.statuses, v)
		case Stage:
			t.tags[pending] = true
			if a.From != "" || !t.tags[tag] {
				delete(t.statuses, v)
			}
		case Restore:
			t.tags[tag] = true
			delete(t.tags, pruned)
			delete(t.statuses, v) // the next run checks the version
		case Deny:
			t.tags[artifact.DeniedTag(v)] = true
			delete(t.tags, tag)
			delete(t.tags, pending)
		case PruneTag:
			t.tags[pruned] = true
			delete(t.tags, tag)
			t.record.Pruned[v] = noon
		case Delete:
			delete(t.tags, pruned)
		case Mark:
			if a.Tag == tag {
				t.record.Unwanted[v] = noon
			} else {
				t.record.Pruned[v] = noon
			}
		case Unmark:
			delete(t.record.Unwanted, v)
		}
	}
}

// describe returns one line for each action: kind, target, and tag.
func describe(actions []Action) string {
	var lines []string
	for _, a := range actions {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", a.Kind, a.Target, a.Tag)), " "))
	}
	return strings.Join(lines, ", ")
}

func versionsOf(tb testing.TB, text string) (all []provider.Version) {
	tb.Helper()
	for v := range strings.FieldsSeq(text) {
		all = append(all, nouns.Version(tb, v))
	}
	return all
}

// requirementsOf parses requirements. A requirement is a constraint, or a version with
// the prefix "lock:".
func requirementsOf(tb testing.TB, a provider.Address, texts ...string) (all []Requirement) {
	tb.Helper()
	for i, text := range texts {
		constraint, locked := strings.CutPrefix(text, "lock:")
		r := Requirement{From: fmt.Sprintf("mirror.hcl:%d", i+1), Locked: locked}
		if locked {
			r.From = ".terraform.lock.hcl"
		}
		r.Address = a
		if constraint != "" {
			var err error
			if r.Constraint, err = provider.ParseConstraint(constraint); err != nil {
				tb.Fatal(err)
			}
		}
		all = append(all, r)
	}
	return all
}
