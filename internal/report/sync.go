package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/sync"
)

// maxComment is the maximum size of the output of --output markdown, in bytes. GitHub
// limits comments to 65,536 characters.
const maxComment = 60_000

// Sync is the report of sync plan, sync apply, and sync report.
type Sync struct {
	*Report
	// Document is the plan or the result.
	Document *outcome.Document
	plan     *sync.Plan
}

// NewSync returns the report of a plan or of its result. p contains no actions if there is
// no plan yet.
func NewSync(o *Report, p *sync.Plan) *Sync {
	s := &Sync{o, outcome.New(p), p}
	o.result = s
	return s
}

// Planned prints the plan. problems are errors that do not concern an action.
func (o *Sync) Planned(problems []error) error {
	o.Document.Planned = true
	for _, a := range o.plan.Actions {
		i := outcome.Planned(a)
		o.add(i, eventOf(i), "", a.Err)
	}
	return o.Finish(problems, nil)
}

// Watch returns the options so with callbacks that report the run.
func (o *Sync) Watch(so sync.Options) sync.Options {
	o.run.plan(len(o.plan.Actions))
	so.OnStart = func(a sync.Action) { o.run.itemStarted(a.Provider, a.Version) }
	so.OnResult = func(r sync.Result) {
		i := outcome.Done(r)
		event, about := eventOf(i), ""
		if r.Err == nil && r.Published.Status != "" {
			event = o.mirroredItem(i.Repository, r.Published)
			if i.Signature != nil {
				about = indented(OneLine(i.Signature.String()) + "\n")
			}
			about += o.packageTable(event.Packages)
		}
		if r.Err == nil {
			for _, warning := range i.Warnings {
				o.printWarning(i.Release() + ": " + warning)
			}
		}
		o.run.itemFinished(r.Action.Provider, r.Action.Version, event)
		o.add(i, event, about, r.Err)
	}
	return so
}

// Merged prints the merged results of all shards of a run.
func (o *Sync) Merged(all *outcome.Document, problems []error) error {
	o.Document.Summary = all.Summary
	for _, i := range all.Items {
		o.add(i, eventOf(i), "", i.Error.Err())
	}
	return o.Finish(problems, nil)
}

// eventOf converts a sync item to the format of items in events.
func eventOf(i outcome.Item) Item {
	return Item{Provider: i.Provider, Version: i.Version, Status: i.Status, Repository: i.Repository, Tag: i.Tag, Digest: i.Digest, Eligible: i.Eligible, Error: i.Error}
}

// add records an item and prints the result of an action. about describes the
// published release.
func (o *Sync) add(i outcome.Item, event Item, about string, err error) {
	o.Document.Items = append(o.Document.Items, i)
	switch {
	case err != nil:
		o.failed(event, err)
	case o.Document.Planned || o.Format == Markdown:
		o.results = append(o.results, event)
	default:
		o.done(event, fmt.Sprintf("%s %s %s\n%s%s", i.Release(), i.Status, reference(i.Repository, i.Tag, i.Digest), detailed([]string{i.Details()}), about))
	}
}

// Finish prints the result of a sync command and returns its error. problems are
// errors that do not concern an action, and err is the error of the run.
func (o *Sync) Finish(problems []error, err error) error {
	for _, problem := range problems {
		o.printError(problem)
	}
	o.Document.Summary.Warnings = append(o.Document.Summary.Warnings, o.warnings...)
	o.Document.Finish(problems)
	o.EndProgress()
	text := ""
	switch {
	case o.Format == Markdown:
		text, _ = o.markdown(o.heading(explain.ExitDone), nil).text(maxComment) // the heading fits
	case o.Document.Planned:
		rows := make([]string, 0, len(o.Document.Items))
		for _, i := range o.Document.Items {
			rows = append(rows, cells(i.Action, i.Release(), i.Target, i.Details()))
		}
		text = o.table(rows) + "plan: " + o.line() + "\n"
	default:
		o.Note("%s", o.line())
	}
	if failed := printItems(o.Report, "sync", o.Document.Items, o.Document.Summary, fit(text, o.columns)); failed != nil {
		return failed
	}
	if len(o.Document.Summary.Problems) > 0 {
		return errors.Join(&explain.ExitError{Code: explain.ExitPartly}, err)
	}
	done := o.Document.Summary.Unchanged + len(o.results) - len(o.errors) - o.Document.Summary.Statuses[outcome.StatusHeld]
	return errors.Join(explain.Items(done, o.errors), err)
}

// line returns the summary in one line.
func (o *Sync) line() string {
	if n := o.Document.Summary.Bytes; n > 0 {
		return o.Document.Line() + " · " + Size(n) + " sent"
	}
	return o.Document.Line()
}

// markdown returns a plan or its results as Markdown for pull requests and job summaries.
func (o *Sync) markdown(heading string, whole *outcome.ErrorItem) *markdown {
	m := &markdown{heading: heading, columns: []string{"action", "provider", "version", "target", "status", "reason"}}
	m.fail("", whole)
	for _, problem := range o.Document.Summary.Problems {
		m.fail("", &problem)
	}
	for _, warning := range o.Document.Summary.Warnings {
		m.warn("", warning)
	}
	for _, i := range o.Document.Items {
		m.fail(i.Release(), i.Error)
		for _, warning := range i.Warnings {
			m.warn(i.Release(), warning)
		}
		m.row(i.Action, asCode(i.Provider), asCode(i.Version), asCode(i.Target), i.Status, asCode(i.Details()))
	}
	return m
}

// Message returns the notification about a run with the given exit code and error.
// It is empty if nothing changed and nothing failed.
func (o *Sync) Message(code int, err error) string {
	if _, reported := errors.AsType[*explain.ExitError](err); reported {
		err = nil
	}
	lines := o.Document.Message(err)
	if len(lines) == 0 {
		return ""
	}
	return o.heading(code) + " (" + o.Document.Summary.Declaration.Path + ")\n" + joinLines(lines)
}

// declaredItem is a provider or module in a declaration.
type declaredItem struct {
	Provider string `json:"provider"`
	// SelectedBy lists the lines, lock files, and root configurations that select
	// versions of the provider.
	SelectedBy []string `json:"selected_by"`
	// Settings contains the effective settings. It is set only with --explain.
	Settings []sync.Setting `json:"settings,omitempty"`
}

// declaredSummary is the summary of sync validate.
type declaredSummary struct {
	Declaration sync.PlannedFile    `json:"declaration"`
	Problems    []outcome.ErrorItem `json:"problems,omitempty"`
	Warnings    []string            `json:"warnings,omitempty"`
	// Probes is set only with --probe.
	Probes []ProbedTarget `json:"probes,omitempty"`
}

// ProbedTarget is the result of probing a repository of a target.
type ProbedTarget struct {
	Target string `json:"target"`
	// Skipped is the reason that the target was not probed. It is empty if Probe is set.
	Skipped  string            `json:"skipped,omitempty"`
	Probe    *doctor.Probe     `json:"probe,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
}

// probedText returns the results of probing targets.
func (o *Report) probedText(probes []ProbedTarget) string {
	var text strings.Builder
	for _, t := range probes {
		if t.Probe == nil {
			fmt.Fprintf(&text, "target %s: not probed: %s\n", t.Target, t.Skipped)
			continue
		}
		fmt.Fprintf(&text, "target %s\n%s%s", t.Target, o.probeText(*t.Probe), found{findings: t.Findings}.text(0))
	}
	return text.String()
}

// CountedWanted returns the numbers of providers and modules, such as "3 providers, 1
// module".
func CountedWanted(wanted []sync.Wanted) string {
	modules := 0
	for _, w := range wanted {
		if w.IsModule() {
			modules++
		}
	}
	text := Counted(len(wanted)-modules, "provider")
	if modules > 0 {
		text += ", " + Counted(modules, "module")
	}
	return text
}

// Declared prints the providers and modules of a declaration or, if explained is not
// empty, the settings of the only provider or module. problems are errors in the files
// that the declaration lists.
func (o *Report) Declared(d *sync.Declaration, wanted []sync.Wanted, explained []sync.Setting, probes []ProbedTarget, problems []error) error {
	summary := declaredSummary{Declaration: sync.PlannedFile{Path: d.Path, Digest: d.Digest}, Warnings: o.warnings, Probes: probes}
	for _, problem := range problems {
		o.printError(problem)
		summary.Problems = append(summary.Problems, *outcome.DescribeError(problem))
	}
	items := make([]declaredItem, len(wanted))
	text := fmt.Sprintf("%s: %s, %s\n", d.Path, CountedWanted(wanted), Counted(len(d.Targets), "target"))
	for n, w := range wanted {
		i := declaredItem{Provider: w.Address.String(), SelectedBy: []string{}, Settings: explained}
		for _, r := range w.Requirements {
			i.SelectedBy = append(i.SelectedBy, r.From)
		}
		if len(explained) > 0 {
			rows := []string{cells("selected by", cmp.Or(strings.Join(i.SelectedBy, ", "), "nothing"))}
			for _, s := range explained {
				rows = append(rows, cells(s.Name, s.Value, s.Position))
			}
			text = i.Provider + "\n" + indented(o.table(rows))
		}
		items[n] = i
	}
	err := printItems(o, "sync-validate", items, summary, text+o.probedText(probes))
	switch failed := slices.ContainsFunc(probes, func(t ProbedTarget) bool { return doctor.Failed(t.Findings) }); {
	case err == nil && len(problems) > 0:
		return &explain.ExitError{Code: explain.ExitPartly}
	case err == nil && failed:
		return &explain.ExitError{Code: explain.ExitFailed}
	}
	return err
}
