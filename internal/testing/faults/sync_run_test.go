package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// disturbance describes the interruption and the other events during a run of sync.
type disturbance struct {
	// kill is the number of the request at which the run is killed. If answered is set,
	// the server executes the request, but its response is lost. If kill is zero, the
	// run is not killed.
	kill     int64
	answered bool
	// other is called before request otherAt. If otherAt is zero, other is called after
	// planning and before applying the plan.
	other   func()
	otherAt int64
	// unreliable reports whether responses can be wrong. After wrong responses, a run
	// can succeed without being complete.
	unreliable bool
}

// sync runs sync apply and checks the properties that every run must preserve. It
// returns the number of requests.
func (m *mirrored) sync(t *testing.T, d declaration, check repository.Depth, x disturbance) (requests int64, err error) {
	t.Helper()
	began := m.now()
	before := map[string]state{}
	for _, target := range []string{mainTarget, drTarget} {
		before[target], _ = m.state(t, target)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g := &gate{}
	switch {
	case x.kill > 0:
		g.at, g.after, g.do = x.kill, x.answered, g.kill(stop)
	case x.other != nil && x.otherAt > 0:
		g.at, g.do = x.otherAt, x.other
	}
	o := m.options(t, d, check, g)
	m.killed, m.failed = x.kill > 0, map[string]bool{}
	var failed []error
	o.OnResult = func(r sync.Result) {
		if r.Err != nil {
			m.failed[r.Action.Target+r.Action.Version.String()] = true
			failed = append(failed, fmt.Errorf("%s %s %s: %w", r.Action.Kind, r.Action.Target, r.Action.Tag, r.Err))
		}
	}
	p, err := sync.NewPlan(ctx, o)
	if n := g.written.Load(); n > 0 {
		t.Errorf("planning sent %d requests that write", n)
	}
	known := maps.Clone(before)
	for target := range known {
		if x.other != nil { // the other run can have denied versions before the plan read the tags
			known[target], _ = m.state(t, target)
		}
	}
	if err == nil {
		t.Logf("plan: %s", describe(p))
		for _, a := range p.Actions {
			if a.Kind == sync.Delete {
				m.toDelete[a.Target+a.Version.String()] = true
			}
		}
		if x.other != nil && x.otherAt == 0 {
			x.other()
		}
		err = p.Apply(ctx, o)
		err = errors.Join(append(failed, err)...)
	}
	if x.kill > 0 {
		time.Sleep(time.Minute) // the registry still executes the requests that it has received
	}
	m.behave()
	if err != nil {
		t.Logf("it failed: %v", err)
	}
	for _, wrong := range []string{password, "token-", "runtime error", "%!"} {
		if err != nil && strings.Contains(err.Error(), wrong) {
			t.Errorf("an error has %q in it: %v", wrong, err)
		}
	}
	m.checkPlan(t, d, p, known)
	for _, target := range []string{mainTarget, drTarget} {
		m.checkTarget(t, d, target, p, before, began, err == nil && !x.unreliable, x.other != nil)
	}
	return g.passed.Load(), err
}

// describe returns the changes in a plan.
func describe(p *sync.Plan) string {
	var parts []string
	for _, a := range p.Actions {
		text := fmt.Sprintf("%s %s %s", a.Kind, a.Target, a.Tag)
		if a.Err != nil {
			text += ": " + a.Err.Error()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// checkPlan checks that a plan respects the limits. Denials that the targets in known
// already have are only repeated, so they don't count.
func (m *mirrored) checkPlan(t *testing.T, d declaration, p *sync.Plan, known map[string]state) {
	t.Helper()
	if p == nil {
		return
	}
	n := map[sync.Kind]int{}
	originFailed := false
	for _, a := range p.Actions {
		if a.Kind != sync.Deny || !known[a.Target].has(artifact.DeniedTag(a.Version)) {
			n[a.Kind]++
		}
		originFailed = originFailed || a.Kind == sync.Fail && a.Target == ""
	}
	removed := n[sync.PruneTag] + n[sync.Delete]
	if removed+n[sync.Deny] > d.most {
		t.Errorf("the plan removes %d versions and denies %d, at most %d are allowed", removed, n[sync.Deny], d.most)
	}
	if removed > 0 && (originFailed || d.report) {
		t.Errorf("the plan removes %d versions", removed)
	}
}

// checkTarget checks a target after a run.
func (m *mirrored) checkTarget(t *testing.T, d declaration, target string, p *sync.Plan, before map[string]state, began time.Time, ok, shared bool) {
	t.Helper()
	after, g := m.state(t, target)
	// 1. Check that the graph of every tag is complete.
	for _, tag := range slices.Sorted(maps.Keys(after)) {
		if missing := m.missing(target, g, after[tag], true); len(missing) > 0 {
			t.Errorf("%s: the tag %s lacks %s", target, tag, missing)
		}
	}
	// 2. Check that only planned versions were removed, and that no selected version
	// was removed.
	planned := map[string]bool{}
	if p != nil {
		for _, a := range p.Actions {
			if a.Target == target {
				planned[string(a.Kind)+" "+a.Version.String()] = true
			}
		}
	}
	isDenied := func(v string) bool {
		return before[target].has("denied-"+v) || after.has("denied-"+v) || target == drTarget && before[mainTarget].has("denied-"+v)
	}
	wanted := d.wanted(t, m.versionsNewestFirst(), isDenied)
	for _, v := range m.goods.versions() {
		had, has := before[target].has(v), after.has(v)
		switch {
		case shared: // the concurrent run checks its own changes
			if (had || before[target].has("pruned-"+v)) && !after.has(v, "pruned-"+v, "denied-"+v) && !m.toDelete[target+v] {
				t.Errorf("%s: two runs have lost %s", target, v)
			}
			continue
		case had && !has && wanted[v]:
			t.Errorf("%s: the wanted version %s was removed", target, v)
		case had && !has && planned["prune "+v]:
			m.checkPruned(t, target, v, before[target], after, began)
		case had && !has && (!planned["deny "+v] || !after.has("denied-"+v)):
			t.Errorf("%s: the version %s was removed without a plan", target, v)
		}
		if before[target].has("pruned-"+v) && !after.has("pruned-"+v) {
			m.checkDeleted(t, target, v, planned, after, wanted[v], began)
		}
		if before[target].has("denied-"+v) && !after.has("denied-"+v) {
			t.Errorf("%s: the denial of %s was removed", target, v)
		}
	}
	m.remember(target, wanted, after, began, ok)
	// 3. Check that all selected versions exist after a complete run.
	if ok && !shared && (target == mainTarget || d.copies) {
		for v := range wanted {
			if !after.has(v) {
				t.Errorf("%s: the run succeeded, but %s is missing", target, v)
			}
		}
	}
}

// checkPruned checks that a pruned version can be restored, and that it was unselected
// for long enough.
func (m *mirrored) checkPruned(t *testing.T, target, v string, before, after state, began time.Time) {
	t.Helper()
	isGone := m.losesTags(target, v) && !after.has("pruned-"+v)
	if after["pruned-"+v] != before[v] && !isGone {
		t.Errorf("%s: %s was pruned, but pruned-%[2]s is %q, not %q", target, v, after["pruned-"+v], before[v])
	}
	if unselected := began.Sub(m.wantedAt[target+v]); unselected < keepFor-time.Second {
		t.Errorf("%s: %s was pruned %s after it was last selected", target, v, unselected)
	}
}

// losesTags reports whether both tags of a version can be lost. If the registry deletes a
// manifest with all its tags, a run that was killed, or whose action failed, might not have
// written the other tag again.
func (m *mirrored) losesTags(target, v string) bool {
	return (m.killed || m.failed[target+v]) && m.nature.registry.DeletesManifests && !m.isLayout(target)
}

// checkDeleted checks that a pruned version that is missing was restored, denied, or
// deleted after the required time.
func (m *mirrored) checkDeleted(t *testing.T, target, v string, planned map[string]bool, after state, isWanted bool, began time.Time) {
	t.Helper()
	isGone := planned["restore "+v] && m.losesTags(target, v)
	if isGone || planned["restore "+v] && after.has(v) || planned["deny "+v] && after.has("denied-"+v) {
		return
	}
	pruned := began.Sub(m.prunedAt[target+v])
	if !planned["delete "+v] || isWanted || pruned < keepFor-time.Second {
		t.Errorf("%s: pruned-%s was deleted %s after it was pruned (wanted: %t)", target, v, pruned, isWanted)
	}
}

// remember records when versions were last selected and when they were pruned.
func (m *mirrored) remember(target string, wanted map[string]bool, after state, began time.Time, ok bool) {
	for _, v := range m.goods.versions() {
		key := target + v
		if wanted[v] && ok || m.wantedAt[key].IsZero() && after.has(v) {
			m.wantedAt[key] = began
		}
		switch isPruned := after.has("pruned-" + v); {
		case !isPruned:
			delete(m.prunedAt, key)
		case m.prunedAt[key].IsZero():
			m.prunedAt[key] = began
		}
	}
}

// completeSync repeats sync without faults, at the check level blobs, until nothing
// remains to be done. It then checks that all wanted versions and platforms exist and
// are complete.
func (m *mirrored) completeSync(t *testing.T, d declaration) {
	t.Helper()
	_, err := m.sync(t, d, repository.DepthBlobs, disturbance{})
	// Unwanted versions with missing content are not repaired, and can't always be
	// pruned.
	hasLost := len(m.lost[mainTarget])+len(m.lost[drTarget]) > 0
	if err != nil && m.nature.registry.NoDelete == 0 && !hasLost {
		t.Errorf("the next run fails: %v", err)
	}
	platformsOf := d.platforms
	if len(platformsOf) == 0 {
		platformsOf = platforms
	}
	for _, target := range []string{mainTarget, drTarget} {
		switch {
		case target == drTarget && !d.copies:
			continue
		case target == drTarget && len(m.lost[mainTarget]) > 0 && len(d.platforms) > 0:
			continue // if a release lacks only platforms outside the declaration, it is neither repaired nor copied
		}
		tags, g := m.state(t, target)
		main, _ := m.state(t, mainTarget)
		for v := range d.wanted(t, m.versionsNewestFirst(), func(v string) bool { return tags.has("denied-"+v) || main.has("denied-"+v) }) {
			// Unwanted platforms are not repaired.
			if missing := m.missing(target, g, tags[v], len(d.platforms) > 0); len(missing) > 0 {
				t.Errorf("%s: %s lacks %s in the end", target, v, missing)
			}
			index, err := artifact.ParseIndex(g(tags[v].String()))
			for _, p := range platformsOf {
				if !slices.ContainsFunc(index.Targets, func(t artifact.Target) bool { return t.Platform == p }) {
					t.Errorf("%s: %s lacks the platform %s in the end: %v", target, v, p, err)
				}
			}
		}
	}
}
