package sync

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// facts contains the gathered facts about one provider.
type facts struct {
	wanted Wanted
	// versions contains the versions in the origin registry. If they are unknown, err
	// is the reason.
	versions []provider.Version
	err      error
	dates    mirror.Dates
	// targets contains the targets of the provider, and the targets that they copy
	// from. Sources precede their copies.
	targets []targetFacts
}

// targetFacts contains the facts about a provider in one target.
type targetFacts struct {
	name, repository string
	// from is the index of the target to copy from, or -1.
	from int
	// writes reports whether the settings of the provider list the target. Otherwise,
	// the target is only a source of copies.
	writes bool
	tags   artifact.Tags
	// unlisted reports whether the registry doesn't permit listing tags. If so, each
	// release is checked.
	unlisted bool
	// record is the sync record. If the record is unknown, recordErr is the reason.
	record    artifact.SyncRecord
	recordErr error
	// err is the reason the tags are unknown, or nil.
	err error
	// checks contains the results of dry runs.
	checks map[provider.Version]check
}

// check is the result of a dry run for an existing release.
type check struct {
	plan publish.Plan
	err  error
}

// rules contains the parts of the declaration and the options that apply to all
// providers.
type rules struct {
	now     time.Time
	check   repository.Depth
	denials []Denial
	gates   gate.Gates
	prune   *Prune
}

// decision contains the actions for one provider. If the decision requires more facts,
// undated or unchecked is not empty, and the actions are incomplete.
type decision struct {
	actions   []Action
	unchanged int
	// undated contains the versions whose publication dates are needed. unchecked
	// contains the versions of each target that need a dry run.
	undated   []provider.Version
	unchecked map[int][]provider.Version
}

func (d decision) isComplete() bool { return len(d.undated) == 0 && len(d.unchecked) == 0 }

// decide returns the actions for one provider, without I/O. [applyRunLimits] applies
// the rules that span several providers.
func decide(f facts, r rules) decision {
	d := decider{facts: f, rules: r, failures: map[string]bool{}, decision: decision{unchecked: map[int][]provider.Version{}}}
	if f.err != nil {
		d.fail(provider.Version{}, f.err)
	}
	for i, t := range f.targets {
		d.states = append(d.states, newState(t))
		switch source := t.from; {
		case t.err == nil && source >= 0 && f.targets[source].err != nil:
			d.failTarget(i, fmt.Sprintf("target %q cannot be read", f.targets[source].name), f.targets[source].err)
		case t.err != nil && t.writes:
			d.failTarget(i, "", t.err)
		case t.err == nil && t.writes:
			d.decideTarget(i)
		}
	}
	return d.decision
}

type decider struct {
	facts
	rules
	decision
	// states contains the states of the targets after the actions.
	states []*state
	// failures contains the failures that affect all targets. Each failure is reported
	// once.
	failures map[string]bool
}

// state is the state of a target after the actions.
type state struct {
	// tagged, pending, and pruned contain the versions that have these tags. denied
	// contains the versions that are denied in the repository.
	tagged, pending, pruned, denied map[provider.Version]bool
	// changed contains the versions whose release changes.
	changed map[provider.Version]bool
	// failed reports whether some facts are unknown. If so, nothing is pruned.
	failed bool
}

func newState(t targetFacts) *state {
	return &state{
		tagged: set(t.tags.Tagged()), pending: set(t.tags.Pending()), pruned: set(t.tags.Pruned()), denied: set(t.tags.Denied()),
		changed: map[provider.Version]bool{}, failed: t.err != nil || t.unlisted,
	}
}

// selected is a version that requirements select.
type selected struct {
	mirror.Item
	exact bool
	// from lists the requirements that select the version. locked lists the lock files
	// among these requirements.
	from, locked []string
}

// errUnlisted is returned for deny blocks if the tags of a target are unknown.
var errUnlisted = provider.Errorf(provider.Refused, "deny blocks do not apply to existing releases, because the registry does not allow tofu-oci to list tags")

// decideTarget adds the actions for one target.
func (d *decider) decideTarget(i int) {
	s := d.states[i]
	// 1. Deny existing releases. If an interrupted run didn't delete the tag of a
	// denied release, deny the release again.
	for _, v := range newestFirst(s.tagged, s.pending) {
		if block, denied := d.denial(v); denied && (!s.denied[v] || s.tagged[v]) {
			a := d.action(i, v)
			if !s.tagged[v] {
				a.Tag = artifact.PendingTag(v)
			}
			a.Locked, a.repeated = d.lockedBy(v), s.denied[v]
			d.add(a, Deny, block.Position+": "+block.Reason)
			s.changed[v] = true
		}
	}
	// Deny releases that the source of the copies denies.
	for _, v := range newestFirst(s.tagged, s.pending) {
		source := d.deniedIn(d.targets[i].from, v)
		if s.changed[v] || source < 0 || s.denied[v] && !s.tagged[v] {
			continue
		}
		a := d.action(i, v)
		a.Source, a.Locked, a.repeated = d.targets[source].repository, d.lockedBy(v), s.denied[v]
		d.add(a, Deny, fmt.Sprintf("denied in target %q", d.targets[source].name))
		s.changed[v], s.denied[v] = true, true
	}
	if d.targets[i].unlisted && slices.ContainsFunc(d.denials, func(b Denial) bool { return b.Pattern.Match(d.wanted.Address) }) {
		d.failTarget(i, "", errUnlisted)
	}
	if len(d.wanted.Requirements) == 0 {
		return // only deny blocks match the provider
	}
	// 2. Mirror or copy the selected versions.
	wanted := d.selectVersions(i)
	for _, v := range newestFirst(wanted) {
		d.decideRelease(i, wanted[v])
	}
	// 3. Prune the remaining versions.
	if err := d.targets[i].recordErr; err != nil {
		d.failTarget(i, "", err)
	}
	if hasDates := len(d.targets[i].record.Unwanted) > 0; !s.failed && d.isComplete() && (d.prune != nil || hasDates) {
		d.pruneTarget(i, wanted)
	}
}

// action returns an action for a version in a target. The caller sets its Kind.
func (d *decider) action(i int, v provider.Version) Action {
	t := d.targets[i]
	return Action{Target: t.name, Repository: t.repository, Provider: d.wanted.Address, Version: v, Tag: artifact.Tag(v)}
}

// failTarget adds a failure that affects all versions in a target.
func (d *decider) failTarget(i int, reason string, err error) {
	a := d.action(i, provider.Version{})
	a.Tag = ""
	d.add(a, Fail, reason).Err = err
	d.states[i].failed = true
}

// add adds an action. The returned pointer is valid until the next call.
func (d *decider) add(a Action, k Kind, reason string) *Action {
	a.Kind, a.Reason = k, reason
	d.actions = append(d.actions, a)
	return &d.actions[len(d.actions)-1]
}

// fail adds a failure that doesn't concern a specific target. It adds each failure only
// once.
func (d *decider) fail(v provider.Version, err error) {
	if key := v.String() + " " + err.Error(); !d.failures[key] {
		d.failures[key] = true
		d.add(Action{Provider: d.wanted.Address, Version: v}, Fail, "").Err = err
	}
}

// denial returns the first deny block that denies a version.
func (d *decider) denial(v provider.Version) (Denial, bool) {
	for _, block := range d.denials {
		if block.Denies(d.wanted.Address, v) {
			return block, true
		}
	}
	return Denial{}, false
}

// isDenied reports whether a version is denied by a deny block, in the given target, or
// in one of the target's sources.
func (d *decider) isDenied(i int, v provider.Version) bool {
	_, denied := d.denial(v)
	return denied || d.deniedIn(i, v) >= 0
}

// deniedIn returns the index of the first target that denies a version: the given target,
// or one of its sources. If there is none, deniedIn returns -1.
func (d *decider) deniedIn(i int, v provider.Version) int {
	for i >= 0 && !d.states[i].denied[v] {
		i = d.targets[i].from
	}
	return i
}

// lockedBy returns the lock files that select a version.
func (d *decider) lockedBy(v provider.Version) (files []string) {
	for _, r := range d.wanted.Requirements {
		if exact, _ := r.Constraint.Exact(); r.Locked && exact == v {
			files = append(files, r.From)
		}
	}
	return files
}

// arrives reports whether a target has a release after the actions.
func (s *state) arrives(v provider.Version) bool { return s.tagged[v] && !s.denied[v] }

// selectVersions selects the versions for a target.
func (d *decider) selectVersions(i int) map[provider.Version]selected {
	var versions []provider.Version
	if d.err == nil {
		versions = d.versions
	}
	exactly := map[provider.Version]bool{}
	for _, r := range d.wanted.Requirements {
		if v, exact := d.wanted.exact(r); exact {
			exactly[v] = true
		}
	}
	isStored := func(v provider.Version) bool { // includes versions that will be stored, regardless of their age
		source := d.targets[i].from
		return exactly[v] || d.states[i].tagged[v] || source >= 0 && d.states[source].arrives(v)
	}
	all := map[provider.Version]selected{}
	for _, r := range d.wanted.Requirements {
		_, exact := d.wanted.exact(r)
		if !exact && (d.wanted.Settings.None || d.err != nil) {
			continue
		}
		items, undated := d.selectFrom(i, r, versions, isStored)
		d.undated = append(d.undated, undated...)
		for _, item := range items {
			if item.Err != nil && item.Version == (provider.Version{}) {
				d.fail(item.Version, item.Err)
				continue
			}
			all[item.Version] = merge(all[item.Version], item, r, exact)
		}
	}
	return all
}

// selectFrom selects the versions that meet a requirement.
func (d *decider) selectFrom(i int, r Requirement, versions []provider.Version, isStored func(provider.Version) bool) ([]mirror.Item, []provider.Version) {
	s := d.wanted.Settings
	denied := slices.DeleteFunc(slices.Clone(versions), func(v provider.Version) bool { return !d.isDenied(i, v) })
	cooldown := mirror.Cooldown{MinAge: s.MinAge, Now: func() time.Time { return d.now }}
	return mirror.Select(r.Requirement, mirror.Rules{Latest: s.Latest, PerMinor: s.PerMinor, PreReleases: s.PreReleases, Cooldown: cooldown},
		mirror.Candidates{Versions: versions, Denied: denied, IsStored: isStored, Dates: d.dates})
}

// merge records that a requirement selects a version. A version that one requirement
// selects is not held back by other requirements.
func merge(s selected, item mirror.Item, r Requirement, exact bool) selected {
	if len(s.from) == 0 || item.Held == nil && item.Err == nil {
		s.Item = item
	}
	s.exact = s.exact || exact
	s.from = append(s.from, r.From)
	if r.Locked {
		s.locked = append(s.locked, r.From)
	}
	return s
}

func set(versions []provider.Version) map[provider.Version]bool {
	s := map[provider.Version]bool{}
	for _, v := range versions {
		s[v] = true
	}
	return s
}

// newestFirst returns the keys of all maps, newest first.
func newestFirst[V any](sets ...map[provider.Version]V) []provider.Version {
	var all []provider.Version
	for _, s := range sets {
		all = slices.AppendSeq(all, maps.Keys(s))
	}
	return provider.NewestFirst(all)
}
