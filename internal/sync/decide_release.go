package sync

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// decideRelease adds the action for a selected version.
func (d *decider) decideRelease(i int, v selected) {
	t, s := d.targets[i], d.states[i]
	a := d.action(i, v.Version)
	reason := "selected by " + strings.Join(v.from, ", ")
	switch {
	case d.isDenied(i, v.Version):
		if !s.changed[v.Version] { // a deny action already covers the version
			a.Locked = v.locked
			d.add(a, Skip, d.whyDenied(i, v.Version))
		}
	case v.Err != nil:
		d.fail(v.Version, v.Err)
	case v.Held != nil:
		d.add(a, Hold, tooYoung(v.Held)).Eligible = v.Held.Eligible
	case s.pruned[v.Version]:
		a.Tag = artifact.PrunedTag(v.Version)
		if t.from >= 0 {
			a.Source = d.targets[t.from].repository // source for restoring lost content
		}
		d.change(i, a, Restore, reason)
	case s.tagged[v.Version] && d.check == repository.DepthTags:
		d.unchanged++
	case s.tagged[v.Version] || t.unlisted:
		d.decideExisting(i, a, reason)
	case t.from >= 0:
		d.decideCopy(i, a, reason)
	case s.pending[v.Version] && d.waits(i) && d.check == repository.DepthTags:
		a.Tag = artifact.PendingTag(v.Version)
		d.add(a, Pending, "waits for approval")
	case s.pending[v.Version] && d.waits(i):
		d.decideExisting(i, a, reason)
	case d.wanted.Settings.Stage:
		a.Tag = artifact.PendingTag(v.Version)
		d.add(a, Stage, reason)
		s.pending[v.Version] = true
	default:
		d.change(i, a, Mirror, reason)
	}
}

// waits reports whether a pending version stays pending until a person approves it, because
// no gate decides.
func (d *decider) waits(i int) bool {
	c := publish.Candidate{Action: publish.ActionMirror, Release: provider.Release{Address: storedAs(d.wanted.Address, d.targets[i].repository)}}
	return d.wanted.Settings.Stage || !d.gates.Decides(c)
}

// tooYoung returns the reason a version is held back.
func tooYoung(held *mirror.TooYoungError) string {
	if held.Published.IsZero() {
		return "the origin has no publication date"
	}
	return "published on " + dayOf(held.Published) + "; can be mirrored on or after " + date(held.Eligible)
}

// date formats a time for messages.
func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// dayOf formats the day of a past time for messages.
func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// change adds an action that changes a release.
func (d *decider) change(i int, a Action, k Kind, reason string) {
	d.add(a, k, reason)
	d.states[i].tagged[a.Version], d.states[i].changed[a.Version] = true, true
}

// whyDenied returns the reason a version is skipped.
func (d *decider) whyDenied(i int, v provider.Version) string {
	if block, denied := d.denial(v); denied {
		return "denied by " + block.Position + ": " + block.Reason
	}
	for !d.states[i].denied[v] {
		i = d.targets[i].from
	}
	return "denied in " + d.targets[i].repository
}

// decideCopy adds the action for a version that is missing from a target that copies
// from another target.
func (d *decider) decideCopy(i int, a Action, reason string) {
	from := d.targets[i].from
	source := d.states[from]
	switch {
	case source.arrives(a.Version):
		a.Source = d.targets[from].repository
		d.change(i, a, Copy, reason)
	case source.pending[a.Version]:
		d.add(a, Pending, fmt.Sprintf("waits for approval in target %q", d.targets[from].name))
	default:
		d.add(a, Hold, fmt.Sprintf("the release does not exist in target %q", d.targets[from].name))
	}
}

// decideExisting adds the action for an existing release. The action depends on the
// result of a dry run.
func (d *decider) decideExisting(i int, a Action, reason string) {
	from := d.targets[i].from
	if from >= 0 {
		a.Source = d.targets[from].repository
		switch source := d.states[from]; {
		case source.changed[a.Version] && d.states[i].tagged[a.Version]:
			d.change(i, a, Extend, fmt.Sprintf("the release in target %q changes, too", d.targets[from].name))
			return
		case !source.arrives(a.Version) && d.states[i].tagged[a.Version]:
			d.unchanged++ // the source doesn't have the release
			return
		case !source.arrives(a.Version):
			d.decideCopy(i, a, reason)
			return
		}
	}
	c, known := d.targets[i].checks[a.Version]
	if !known {
		d.unchecked[i] = append(d.unchecked[i], a.Version)
		return
	}
	a.Tag, a.From = cmp.Or(c.plan.Tag, a.Tag), c.plan.From
	conflict, isConflict := errors.AsType[*repository.ConflictError](c.err)
	unlocked, isUnlocked := errors.AsType[*lock.HashError](c.err)
	isPending := a.Tag == artifact.PendingTag(a.Version)
	switch {
	case isConflict:
		d.add(a, Conflict, "").Conflicts = conflict.Reasons
	case isUnlocked:
		d.add(a, Conflict, "").Conflicts = []string{unlocked.Within(a.Provider, a.Version)}
	case c.err != nil:
		d.add(a, Fail, "").Err = c.err
		d.states[i].failed = true
	case c.plan.Status == publish.Denied:
		d.add(a, Skip, "denied in "+d.targets[i].repository)
	case c.plan.Status == publish.Unchanged && isPending:
		d.add(a, Pending, "waits for approval")
	case c.plan.Status == publish.Unchanged:
		d.unchanged++
		d.states[i].tagged[a.Version] = true // the version might be missing in unlisted tags
	case isPending:
		d.add(a, Stage, reason)
		d.states[i].pending[a.Version] = true
	case c.plan.Status == publish.Repaired:
		d.change(i, a, Repair, "content is missing or damaged")
	case a.From != "":
		d.change(i, a, Extend, "platforms or documents are missing")
	case from >= 0:
		d.change(i, a, Copy, reason)
	default:
		d.change(i, a, Mirror, reason)
	}
}
