package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
)

// syncItem is an action of sync plan, or the result of an action of sync apply.
type syncItem struct {
	Action string `json:"action"`
	// Target is the name of the target in the declaration.
	Target string `json:"target,omitempty"`
	// Source is the repository that a release is copied from.
	Source string `json:"source,omitempty"`
	// From is the digest that the tag pointed to when the action was planned.
	From   string `json:"from,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Locked lists the lock files that select a version to deny.
	Locked []string `json:"locked,omitempty"`
	// Bytes is the size of the zips that were sent.
	Bytes int64 `json:"bytes,omitempty"`
	Item
}

// syncSchema is the schema of sync plan, sync apply, and sync report.
const syncSchema = schemas + "sync.schema.json"

// syncRun is the state of the report of a sync command.
type syncRun struct {
	items   []syncItem
	summary outcome.Summary
	// planned reports that nothing is applied.
	planned bool
}

// plannedStatuses maps actions to the statuses of planned items. The default is
// statusPlanned.
var plannedStatuses = map[sync.Kind]string{
	sync.Hold: statusHeld, sync.Skip: "denied", sync.Pending: statusPending, sync.Conflict: statusFailed, sync.Fail: statusFailed,
}

// doneStatuses maps actions that don't publish to the statuses of results.
var doneStatuses = map[sync.Kind]string{
	sync.Restore: statusRestored, sync.Deny: "denied", sync.Mark: statusMarked, sync.Unmark: statusUnmarked, sync.PruneTag: statusPruned, sync.Delete: statusDeleted,
}

// planWords contains the words for actions in the summary of a plan, in their order.
var planWords = []struct {
	kind  sync.Kind
	words string
}{
	{sync.Mirror, "to mirror"}, {sync.Copy, "to copy"}, {sync.Stage, "to stage"}, {sync.Extend, "to extend"}, {sync.Repair, "to repair"},
	{sync.Restore, "to restore"}, {sync.Deny, "to deny"}, {sync.PruneTag, "to prune"}, {sync.Delete, "to delete"}, {sync.Mark, "newly unwanted"},
	{sync.Unmark, "wanted again"}, {sync.Hold, "held back"}, {sync.Pending, "waiting for approval"}, {sync.Skip, "skipped"}, {sync.Conflict, "conflicting"}, {sync.Fail, "failed"},
}

func newSyncRun(p *sync.Plan, planned bool) *syncRun {
	return &syncRun{planned: planned, summary: outcome.Summary{
		Statuses: map[string]int{}, Declaration: p.Declaration, Trust: p.Trust.String(), Shard: p.Shard.String(), CheckLevel: p.CheckLevel, Unchanged: p.Summary.Unchanged,
	}}
}

// StartSync prepares the report of a run, which can fail before there is a plan.
func (o *Report) StartSync(d *sync.Declaration) {
	o.sync = newSyncRun(&sync.Plan{Declaration: sync.PlannedFile{Path: d.Path, Digest: d.Digest}}, false)
}

// SyncPlanned prints a plan. problems are errors that are not about an action.
func (o *Report) SyncPlanned(p *sync.Plan, problems []error) error {
	o.sync = newSyncRun(p, true)
	for _, a := range p.Actions {
		o.addSync(plannedItem(a), errorOf(a))
	}
	return o.FinishSync(problems, nil)
}

// WatchSync returns so with callbacks that report the run.
func (o *Report) WatchSync(so sync.Options, p *sync.Plan) sync.Options {
	o.sync = newSyncRun(p, false)
	n := 0
	for _, a := range p.Actions {
		if a.Kind.Changes() {
			n++
		}
	}
	o.run.plan(n)
	so.OnStart = func(a sync.Action) { o.run.itemStarted(a.Provider, a.Version) }
	so.OnResult = func(r sync.Result) {
		i := o.syncResult(r)
		o.run.itemFinished(r.Action.Provider, r.Action.Version, i.Item)
		o.addSync(i, cmp.Or(r.Err, errorOf(r.Action)))
	}
	return so
}

// addSync records an item and prints the result of an action.
func (o *Report) addSync(i syncItem, err error) {
	o.sync.items = append(o.sync.items, i)
	switch {
	case err != nil:
		o.failed(i.Item, err)
	case o.sync.planned || o.Format == Markdown:
		o.results = append(o.results, i.Item)
	default:
		at := i.Repository + ":" + i.Tag
		if i.Digest != "" {
			at += "@" + i.Digest
		}
		o.done(i.Item, fmt.Sprintf("%s %s %s %s\n%s%s", i.Provider, i.Version, i.Status, at, detailed([]string{i.details()}), packageTable(i.Packages)))
	}
}

// errorOf returns the error of an action that can't be performed.
func errorOf(a sync.Action) error {
	switch {
	case a.Err != nil:
		return a.Err
	case a.Kind == sync.Conflict:
		return &repository.ConflictError{Release: a.Provider.String() + " " + a.Version.String(), Reasons: a.Conflicts}
	case a.Kind == sync.Fail:
		return errors.New(a.Provider.String() + ": " + a.Reason)
	}
	return nil
}

// plannedItem returns the item of an action.
func plannedItem(a sync.Action) syncItem {
	i := syncItem{
		Action: string(a.Kind), Target: a.Target, Source: a.Source, From: a.From.String(), Reason: a.Reason, Locked: a.Locked,
		Item: Item{
			Provider: a.Provider.String(), Status: cmp.Or(plannedStatuses[a.Kind], statusPlanned),
			Repository: a.Repository, Tag: a.Tag, Eligible: dateText(a.Eligible),
		},
	}
	if a.Version != (provider.Version{}) {
		i.Version = a.Version.String()
	}
	if err := errorOf(a); err != nil {
		i.Error = describeError(err)
	}
	return i
}

// syncResult returns the item of a result.
func (o *Report) syncResult(r sync.Result) syncItem {
	i := plannedItem(r.Action)
	i.Bytes = r.Bytes
	switch {
	case r.Err != nil:
		i.Item = failedItem(provider.Requirement{Address: r.Action.Provider}, r.Action.Version, i.Repository, r.Err)
		i.Tag = r.Action.Tag
	case r.Published.Status != "":
		i.Item = o.mirroredItem(i.Repository, r.Published)
	case r.Action.Kind.Changes():
		i.Status = cmp.Or(doneStatuses[r.Action.Kind], i.Status)
	}
	return i
}

// details returns the reason of an action, and what users should know before they approve
// it.
func (i syncItem) details() string {
	text := i.Reason
	if i.Eligible != "" && !strings.Contains(text, i.Eligible) {
		text += "; eligible from " + i.Eligible
	}
	if len(i.Locked) > 0 {
		text += "; locked in " + strings.Join(i.Locked, ", ")
	}
	if i.Error != nil && i.Error.Message != text {
		text += "; " + i.Error.Message
	}
	return strings.TrimPrefix(text, "; ")
}

// FinishSync prints the result of a sync command and returns its error. problems are errors
// that are not about an action, and err is the error of the run.
func (o *Report) FinishSync(problems []error, err error) error {
	s := o.sync
	for _, problem := range problems {
		o.printError(problem)
		s.summary.Problems = append(s.summary.Problems, outcome.Problem(*describeError(problem)))
	}
	s.summary.Statuses, s.summary.Actions = counts(o.results), map[string]int{}
	for _, i := range s.items {
		s.summary.Actions[i.Action]++
		s.summary.Bytes += i.Bytes
	}
	if !s.planned && s.summary.Finished.IsZero() {
		s.summary.Finished = time.Now().UTC().Truncate(time.Second)
	}
	o.EndProgress()
	text := ""
	switch {
	case o.Format == Markdown:
		text, _ = o.syncMarkdown("tofu-oci " + o.Command + ": " + o.syncLine()).text(maxComment) // the heading fits
	case s.planned:
		text = s.table() + "plan: " + o.syncLine() + "\n"
	default:
		o.Note("%s", o.syncLine())
	}
	if failed := printItems(o, "sync", s.items, s.summary, text); failed != nil {
		return failed
	}
	if len(s.summary.Problems) > 0 {
		return errors.Join(&explain.ExitError{Code: explain.ExitPartly}, err)
	}
	done := s.summary.Unchanged + len(o.results) - len(o.errors) - s.summary.Statuses[statusHeld]
	return errors.Join(explain.Items(done, o.errors), err)
}

// table returns a line for each action of a plan.
func (s *syncRun) table() string {
	rows := make([]string, 0, len(s.items))
	for _, i := range s.items {
		rows = append(rows, cells(i.Action, strings.TrimSpace(i.Provider+" "+i.Version), i.Target, i.details()))
	}
	return table(rows)
}

// syncLine returns the summary in one line: "3 to mirror, 12 unchanged" for a plan, or
// "3 created, 12 unchanged · 1.1 kB sent".
func (o *Report) syncLine() string {
	s := o.sync.summary
	if !o.sync.planned {
		of := maps.Clone(s.Statuses)
		of["unchanged"] += s.Unchanged
		text := countsLine(of)
		if s.Bytes > 0 {
			text += fmt.Sprintf(" · %s sent", Size(s.Bytes))
		}
		return cmp.Or(text, "no releases")
	}
	var parts []string
	for _, w := range planWords {
		if n := s.Actions[string(w.kind)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, w.words))
		}
	}
	if s.Unchanged > 0 || parts == nil {
		parts = append(parts, fmt.Sprintf("%d unchanged", s.Unchanged))
	}
	return strings.Join(parts, ", ")
}

// maxComment is the maximum size of the Markdown that --output markdown prints, in bytes.
// GitHub limits comments to 65,536 characters.
const maxComment = 60_000

// syncMarkdown returns a plan or its results for pull requests and job summaries.
func (o *Report) syncMarkdown(heading string) markdown {
	m := markdown{heading: heading, columns: "| action | provider | version | target | status | reason |\n|---|---|---|---|---|---|\n"}
	for _, problem := range o.sync.summary.Problems {
		m.failures = append(m.failures, fmt.Sprintf("- %s\n", asCode(problem.Message)))
	}
	for _, i := range o.sync.items {
		if i.Error != nil {
			m.failures = append(m.failures, fmt.Sprintf("- %s: %s\n", asCode(i.Provider+" "+i.Version), asCode(i.Error.Message)))
		}
		m.rows = append(m.rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n",
			i.Action, asCode(i.Provider), asCode(i.Version), asCode(i.Target), i.Status, asCode(i.details())))
	}
	return m
}
