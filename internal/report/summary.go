package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// errorSummary is the summary of the document that a failed command without items
// prints.
type errorSummary struct {
	Error *outcome.ErrorItem `json:"error"`
}

// End prints the run's summary, writes the last event, and writes the job summary. code
// is the exit code. err is not nil if the command failed.
func (o *Report) End(err error, code int) {
	if o.plan == nil && o.result == nil && len(o.results) > 1 && code != explain.ExitInterrupted {
		o.Note("%s", o.line())
	}
	o.noteSkipped()
	var whole *outcome.ErrorItem
	if _, reported := errors.AsType[*explain.ExitError](err); err != nil && !reported && code != explain.ExitInterrupted {
		whole = outcome.DescribeError(err)
	}
	o.run.notify(&runFinished{
		event: event{Event: "run_finished"}, Statuses: counts(o.results), Bytes: o.run.moved, Seconds: seconds(time.Since(o.run.started)), ExitCode: code, Error: whole,
	})
	if o.Summary != "" {
		text := newMarkdown(o.heading(code), o.results, whole)
		if o.result != nil {
			text = o.result.markdown(o.heading(code), whole)
		}
		if err := text.appendTo(o.Summary); err != nil {
			o.Warn("writing the job summary to $GITHUB_STEP_SUMMARY: %v", err)
		}
	}
}

// line returns the run's summary in one line.
func (o *Report) line() string { return line(o.results, o.run.moved, time.Since(o.run.started)) }

// heading returns the job summary's heading.
func (o *Report) heading(code int) string {
	text := "tofu-oci " + o.Command
	switch {
	case o.result != nil:
		text += ": " + o.result.line()
	case len(o.results) > 0:
		text += ": " + o.line()
	}
	if code != explain.ExitDone {
		text += fmt.Sprintf(" · exit code %d", code)
	}
	return text
}

// PrintError prints the JSON document for a command that failed without results.
func (o *Report) PrintError(err error) error {
	return printItems(o, "error", []none{}, errorSummary{outcome.DescribeError(err)}, "")
}

// Statuses in addition to those in package publish.
const (
	statusPulled  = "pulled"
	statusChecked = "checked" // used by trust, which transfers nothing
)

// statuses lists the statuses of releases in the order of the summary line.
var statuses = []string{
	string(publish.Created), string(publish.Extended), string(publish.Repaired), string(publish.Replaced), string(publish.Promoted), statusPulled,
	"restored", "pruned", "deleted", "marked", "unmarked", string(publish.Denied), string(publish.Unchanged), string(publish.Pending), outcome.StatusHeld, outcome.StatusFailed,
}

// counts maps each status to the number of results.
func counts(results []Item) map[string]int {
	of := map[string]int{}
	for _, r := range results {
		of[r.Status]++
	}
	return of
}

// line returns a run's summary, for example "5 created, 12 unchanged, 1 failed · 212.0
// MB sent · 41 s".
func line(results []Item, moved int64, took time.Duration) string {
	of, parts := counts(results), []string{}
	for _, status := range append(slices.Clone(statuses), statusChecked) {
		if of[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[status], status))
		}
	}
	text := strings.Join(parts, ", ")
	if slices.ContainsFunc(results, func(i Item) bool { return i.DryRun }) {
		text = "dry run: " + text
	}
	if moved > 0 {
		verb := "sent"
		unchanged := of[string(publish.Unchanged)]
		if of[statusPulled] > 0 || unchanged > 0 && unchanged == len(results) { // unchanged modules are downloaded to compare them
			verb = "fetched"
		}
		text += fmt.Sprintf(" · %s %s", Size(moved), verb)
	}
	return text + " · " + formatDuration(took)
}

// formatDuration formats a duration with units, for example "41 s" or "2 min 5 s".
func formatDuration(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 60*60:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/60/60, s/60%60)
}

// skippedItem contains a provider's pre-releases that --all skipped.
type skippedItem struct {
	Provider string `json:"provider"`
	// Versions are sorted from newest to oldest.
	Versions []string `json:"versions"`
}

// SkippedPreReleases records the pre-releases that --all skipped, newest first.
func (o *Report) SkippedPreReleases(a provider.Address, preReleases []provider.Version) {
	if len(preReleases) == 0 {
		return
	}
	o.skipped = append(o.skipped, skippedItem{a.String(), text.Strings(preReleases)})
}

// noteSkipped prints how many pre-releases were skipped and explains how to select one.
func (o *Report) noteSkipped() {
	count := 0
	for _, i := range o.skipped {
		count += len(i.Versions)
	}
	if count > 0 {
		first := o.skipped[0]
		o.Note("%s skipped; to select one, specify its exact version, such as %s@%s", Counted(count, "pre-release"), first.Provider, first.Versions[0])
	}
}

// dryRunPlan is the amount of work that a dry run determined. A dry run doesn't check
// which zips the repository already contains, so a real run can send less.
type dryRunPlan struct {
	// Releases is the number of releases, and ToSend is the number of releases to send.
	Releases int `json:"releases"`
	ToSend   int `json:"to_send"`
	// Packages is the number of packages to send, and Size is their total size in
	// bytes. SizeUnknown is the number of packages that Size doesn't include.
	Packages    int   `json:"packages"`
	Size        int64 `json:"size"`
	SizeUnknown int   `json:"size_unknown,omitempty"`
}

// add adds a release to the plan.
func (t *dryRunPlan) add(r publish.Result) {
	t.Releases++
	if r.Status == publish.Unchanged || r.Status == publish.Denied {
		return
	}
	t.ToSend++
	for _, p := range r.Packages {
		if t.Packages++; p.Package.Size < 0 {
			t.SizeUnknown++
			continue
		}
		t.Size += p.Package.Size
	}
}

// String summarizes the plan in one line.
func (t *dryRunPlan) String() string {
	text := fmt.Sprintf("plan: %s, %d to send", Counted(t.Releases, "release"), t.ToSend)
	if t.ToSend > 0 {
		text += fmt.Sprintf(" (at most %s, %s", Counted(t.Packages, "package"), Size(t.Size))
		if t.SizeUnknown > 0 {
			text += fmt.Sprintf("; the size of %s is unknown", Counted(t.SizeUnknown, "package"))
		}
		text += ")"
	}
	return text
}

// Counted returns a number and a noun, such as "1 release" or "2 releases".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
