package sync

import (
	"cmp"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// pruneTarget adds the actions for the unselected versions of a target. A version
// passes through the following states, and stays in the second and third states for at
// least KeepFor:
//
//	selected → unselected, with a date in the record → pruned, with a date in the record → deleted
func (d *decider) pruneTarget(i int, wanted map[provider.Version]selected) {
	t, s := d.targets[i], d.states[i]
	unselected := d.unselected(i, wanted)
	for _, v := range newestFirst(s.tagged) {
		since, marked := t.record.Unwanted[v]
		a := d.action(i, v)
		switch {
		case !unselected[v] && marked:
			d.add(a, Unmark, "wanted again")
		case !unselected[v], d.prune == nil:
		case !isPlausible(since, d.now):
			d.removable(a, Mark, "not selected", "pruned", d.now)
		default:
			d.remove(a, PruneTag, "not selected since ", "pruned", since)
		}
	}
	restorable := d.selectStored(i, slices.Concat(t.tags.Tagged(), t.tags.Pruned()))
	for _, v := range newestFirst(s.pruned) {
		since := t.record.Pruned[v]
		a := d.action(i, v)
		a.Tag = artifact.PrunedTag(v)
		_, isWanted := wanted[v] // for example, the version is too young to be restored
		switch {
		case d.prune == nil, isWanted, s.tagged[v], s.pending[v], d.isDenied(i, v):
		case restorable[v] && slices.Contains(d.versions, v):
			d.add(a, Hold, "selected until its successor arrives")
		case restorable[v]:
			d.add(a, Hold, "selected, but the origin registry doesn't list it")
		case !isPlausible(since, d.now):
			d.removable(a, Mark, "pruned at an unknown time", "deleted", d.now)
		default:
			d.remove(a, Delete, "pruned on ", "deleted", since)
		}
	}
}

// remove adds an action that removes a release, or a hold if the release can't be
// removed yet. was describes what happened to the release at the time in since, and
// removed describes the next step.
func (d *decider) remove(a Action, k Kind, was, removed string, since time.Time) {
	was += dayOf(since)
	if d.prune.Delete && !d.now.Before(since.Add(d.prune.KeepFor)) {
		d.add(a, k, was)
		return
	}
	d.removable(a, Hold, was, removed, since)
}

// removable adds an action for a release that can be removed later.
func (d *decider) removable(a Action, k Kind, was, removed string, since time.Time) {
	eligible := since.Add(d.prune.KeepFor)
	reason := was + "; can be " + removed + " on or after " + date(eligible)
	if !d.prune.Delete {
		reason = was + "; could be " + removed + " on or after " + date(eligible) + `, but the prune mode is "report"`
	}
	d.add(a, k, reason).Eligible = eligible
}

// oldest is earlier than the date of any sync record.
var oldest = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// isPlausible reports whether a date in a sync record can be correct. Implausible dates
// were written by a host with a wrong clock. They are treated as unknown.
func isPlausible(date, now time.Time) bool { return date.After(oldest) && !date.After(now) }

// unselected returns the existing versions of a target that can be removed. Such a
// version is neither denied, nor pending, nor one of the previous versions to keep. No
// requirement selects it from the origin's versions or from the versions that the
// target has before this run.
func (d *decider) unselected(i int, wanted map[provider.Version]selected) map[provider.Version]bool {
	s := d.states[i]
	// Versions that the target doesn't have yet don't displace existing versions, because
	// a gate can hold them. Versions that the origin has withdrawn remain selected.
	selected := d.selectStored(i, d.targets[i].tags.Tagged())
	for v, w := range wanted {
		if w.Held == nil && w.Err == nil && !d.isDenied(i, v) {
			selected[v] = true
		}
	}
	keep := 0
	if d.prune != nil {
		keep = d.prune.KeepPrevious
	}
	newest := slices.MaxFunc(append(newestFirst(selected), provider.Version{}), provider.Version.Compare)
	unselected := map[provider.Version]bool{}
	for _, v := range newestFirst(s.tagged) {
		switch isPrevious := len(selected) == 0 || v.Compare(newest) < 0; {
		case selected[v], s.pending[v], s.denied[v], d.isDenied(i, v):
		case isPrevious && keep > 0:
			keep--
		default:
			unselected[v] = true
		}
	}
	return unselected
}

// selectStored returns the versions that the requirements select from the stored
// versions. It ignores the origin's version list and the age of versions.
func (d *decider) selectStored(i int, stored []provider.Version) map[provider.Version]bool {
	stored = slices.DeleteFunc(slices.Clone(stored), func(v provider.Version) bool { return d.isDenied(i, v) })
	selected := map[provider.Version]bool{}
	for _, r := range d.wanted.Requirements {
		if _, exact := d.wanted.exact(r); exact || d.wanted.Settings.None {
			continue
		}
		items, _ := d.selectFrom(i, r, stored, func(provider.Version) bool { return true })
		for _, item := range items {
			if item.Err == nil {
				selected[item.Version] = true
			}
		}
	}
	return selected
}

// defaultMaxDelete is the maximum number of releases that a run denies if the
// declaration has no prune block.
const defaultMaxDelete = 20

// applyRunLimits applies the rules that span all actions of a shard and sorts the
// actions. problems reports whether files could not be read. order contains the names
// of the targets.
func applyRunLimits(actions []Action, d *Declaration, s Shard, problems bool, order []string) []Action {
	originFailed := slices.ContainsFunc(actions, func(a Action) bool {
		checked := a.Version != provider.Version{} && a.Source == "" // the check might have failed at the origin
		return a.Kind == Fail && (a.Target == "" || checked)
	})
	actions = slices.DeleteFunc(actions, func(a Action) bool { return a.Kind == Mark && (problems || originFailed) })
	sortActions(actions, order)
	left := s.part(defaultMaxDelete)
	if d.Prune != nil {
		left = s.part(d.Prune.MaxDelete)
	}
	for _, k := range []Kind{Deny, PruneTag, Delete} {
		for i := range actions {
			if k != Deny {
				i = len(actions) - 1 - i // start with the oldest versions
			}
			a := &actions[i]
			switch {
			case a.Kind != k:
			case problems:
				a.Kind, a.Reason = Hold, a.Reason+"; nothing is denied or removed, because a sources file or lock file could not be read"
			case originFailed && k != Deny:
				a.Kind, a.Reason = Hold, a.Reason+"; nothing is removed, because the releases of a provider are unknown"
			case a.repeated: // if the registry doesn't delete tags, each run repeats the denial
			case left == 0:
				a.Kind, a.Reason = Hold, a.Reason+"; max_delete has been reached"
			default:
				left--
			}
		}
	}
	sortActions(actions, order)
	return actions
}

// sortActions sorts actions by provider, phase, version, and target. Within a phase,
// actions without a tag come first.
func sortActions(actions []Action, order []string) {
	position := func(a Action) int { return slices.Index(order, a.Target) }
	slices.SortStableFunc(actions, func(a, b Action) int {
		return cmp.Or(a.Provider.Compare(b.Provider), cmp.Compare(a.Kind.phase(), b.Kind.phase()), cmp.Compare(min(len(a.Tag), 1), min(len(b.Tag), 1)),
			b.Version.Compare(a.Version), cmp.Compare(position(a), position(b)))
	})
}

// phase returns the phase in which the actions of a kind are performed for a provider.
// Sync records are updated and versions are removed only after releases are published.
func (k Kind) phase() int {
	switch k {
	case Mark, Unmark, PruneTag, Delete:
		return 1
	}
	return 0
}

// part returns a shard's share of a limit. The shares of all shards add up to the
// limit, unless there are more shards than that. Each share is at least 1, because
// otherwise some shards would never deny or remove anything.
func (s Shard) part(limit int) int {
	if s.Count <= 1 || limit == 0 {
		return limit
	}
	part := limit / s.Count
	if s.Index <= limit%s.Count {
		part++
	}
	return max(part, 1)
}
