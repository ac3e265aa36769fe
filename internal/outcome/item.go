package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Item is a planned action or the result of an action.
type Item struct {
	Action   string `json:"action"`
	Provider string `json:"provider"`
	Version  string `json:"version,omitempty"`
	Status   string `json:"status"`
	// Target is the name of the target in the declaration.
	Target     string `json:"target,omitempty"`
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	// From is the digest to which the tag pointed when the action was planned. Digest
	// is the digest to which the tag points now.
	From   string `json:"from,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Source is the repository from which a release is copied.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Eligible is the earliest time at which a release can be mirrored or pruned.
	Eligible string `json:"eligible,omitempty"`
	// Locked lists the lock files that contain a version to be denied.
	Locked []string `json:"locked,omitempty"`
	// Platforms lists the release's platforms in the target.
	Platforms []string `json:"platforms,omitempty"`
	// Bytes is the total size of the zips that were sent.
	Bytes int64 `json:"bytes,omitempty"`
	// Signature is nil if the signature was not verified.
	Signature *description.Signature `json:"signature,omitempty"`
	// Warnings contains all warnings about the release, including the signature's.
	Warnings []string   `json:"warnings,omitempty"`
	Error    *ErrorItem `json:"error,omitempty"`
}

// Statuses of items, in addition to those of package publish.
const (
	StatusPlanned = "planned"
	StatusHeld    = "held"
	StatusFailed  = "failed"
)

// kinds describes all actions in the order in which summaries list them.
var kinds = []struct {
	kind sync.Kind
	// The words toDo and done follow the number of actions in a summary: "3 to mirror",
	// "3 mirrored".
	toDo, done string
	// status is the status of a planned item. after is the status after an action that
	// publishes nothing. If after is empty, the status does not change.
	status, after string
}{
	{sync.Mirror, "to mirror", "mirrored", StatusPlanned, ""},
	{sync.Copy, "to copy", "copied", StatusPlanned, ""},
	{sync.Stage, "to stage", "staged", StatusPlanned, ""},
	{sync.Extend, "to extend", "extended", StatusPlanned, ""},
	{sync.Repair, "to repair", "repaired", StatusPlanned, ""},
	{sync.Restore, "to restore", "restored", StatusPlanned, "restored"},
	{sync.Deny, "to deny", "denied", StatusPlanned, string(publish.Denied)},
	{sync.PruneTag, "to prune", "pruned", StatusPlanned, "pruned"},
	{sync.Delete, "to delete", "deleted", StatusPlanned, "deleted"},
	{sync.Mark, "to mark", "marked", StatusPlanned, "marked"},
	{sync.Unmark, "to unmark", "unmarked", StatusPlanned, "unmarked"},
	{sync.Hold, "held back", "held back", StatusHeld, ""},
	{sync.Pending, "waiting for approval", "waiting for approval", string(publish.Pending), ""},
	{sync.Skip, "skipped", "skipped", string(publish.Denied), ""},
	{sync.Conflict, "conflicting", "", StatusFailed, ""},
	{sync.Fail, "failed", "", StatusFailed, ""},
}

// Actions returns the names of all actions in the order in which summaries list them.
func Actions() (names []string) {
	for _, k := range kinds {
		names = append(names, string(k.kind))
	}
	return names
}

// Planned returns the item for a planned action.
func Planned(a sync.Action) Item {
	i := Item{
		Action: string(a.Kind), Provider: a.Provider.String(), Target: a.Target, Repository: a.Repository, Tag: a.Tag,
		From: a.From.String(), Source: a.Source, Reason: a.Reason, Locked: a.Locked, Error: DescribeError(a.Err),
	}
	if a.Version != (provider.Version{}) {
		i.Version = a.Version.String()
	}
	if !a.Eligible.IsZero() {
		i.Eligible = a.Eligible.UTC().Format(time.RFC3339)
	}
	for _, k := range kinds {
		if k.kind == a.Kind {
			i.Status = k.status
		}
	}
	return i
}

// Done returns the item for the result of an action.
func Done(r sync.Result) Item {
	i := Planned(r.Action)
	i.Bytes, i.Error = r.Bytes, DescribeError(r.Err)
	i.Signature, i.Warnings = description.NewSignature(r.Published.Verdict), warnings(r.Published)
	if r.Undeleted != nil {
		i.Warnings = append(i.Warnings, fmt.Sprintf("this version and others can't be removed: %v; %s; or set mode = \"report\" in the prune block", r.Undeleted, cmp.Or(explain.Hint(r.Undeleted), "delete it with a tool for your registry")))
	}
	if i.Error != nil {
		i.Status = StatusFailed
		if refused, ok := errors.AsType[*trust.RefusedError](r.Err); ok {
			i.Signature = description.NewSignature(refused.Verdict)
		}
		return i
	}
	for _, k := range kinds {
		if k.kind == r.Action.Kind {
			i.Status = cmp.Or(string(r.Published.Status), k.after, k.status)
		}
	}
	if r.Action.Kind == sync.Restore {
		i.Tag, i.Digest = artifact.Tag(r.Action.Version), i.From
	}
	if r.Published.Status != "" {
		i.Tag, i.Digest = cmp.Or(r.Published.Tag, i.Tag), r.Published.Digest.String()
	}
	for _, p := range r.Published.Packages {
		i.Platforms = append(i.Platforms, p.Package.Platform.String())
	}
	return i
}

// DescribeError describes an error. It returns nil if err is nil.
func DescribeError(err error) *ErrorItem {
	if err == nil {
		return nil
	}
	return &ErrorItem{Message: err.Error(), Hint: explain.Hint(err), Class: provider.KindOf(err), ExitCode: explain.ItemCode(err)}
}

// Err returns the error that the item describes, or nil.
func (e *ErrorItem) Err() error {
	if e == nil {
		return nil
	}
	return provider.Errorf(e.Class, "%s", e.Message)
}

// Release returns the provider and the version.
func (i Item) Release() string { return strings.TrimSpace(i.Provider + " " + i.Version) }

// Details returns the reason for an action and other information for users who approve
// the action.
func (i Item) Details() string {
	text := i.Reason
	if i.Eligible != "" && !strings.Contains(text, i.Eligible) {
		text += "; eligible from " + i.Eligible
	}
	if len(i.Locked) > 0 {
		text += "; locked in " + strings.Join(i.Locked, ", ")
	}
	if i.Error != nil {
		text += "; " + i.Error.Message
	}
	return strings.TrimPrefix(text, "; ")
}

// Line returns the summary in one line: "3 to mirror, 12 unchanged" for a plan, or "3
// mirrored, 1 failed, 12 unchanged" for results.
func (d *Document) Line() string {
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	succeeded, failed := map[string]int{}, 0
	for _, i := range d.Items {
		if i.Error == nil || d.Planned {
			succeeded[i.Action]++
		} else {
			failed++
		}
	}
	for _, k := range kinds {
		words := k.done
		if d.Planned {
			words = k.toDo
		}
		add(succeeded[string(k.kind)], words)
	}
	add(failed, "failed")
	if add(d.Summary.Unchanged, "unchanged"); parts == nil {
		return "no releases"
	}
	return strings.Join(parts, ", ")
}

// Message returns the text of a notification without a heading. It consists of one line
// for each failure, each warning of the run, and each change. Lines about releases contain
// the verdict on the signature and all warnings. err is an error of the whole run, or nil.
func (d *Document) Message(err error) (lines []string) {
	var warned, changed []string
	for _, warning := range d.Summary.Warnings {
		warned = append(warned, "warning: "+warning)
	}
	for _, problem := range d.Summary.Problems {
		lines = append(lines, problem.Message)
	}
	if err != nil {
		lines = append(lines, err.Error())
	}
	for _, i := range d.Items {
		line := fmt.Sprintf("%s %s %s: %s", i.Release(), i.Status, i.Target, i.Details())
		for _, warning := range i.Warnings {
			line = withPart(line, "warning: ", warning)
		}
		line = withPart(line, "", i.Signature.String())
		switch isChange := sync.Kind(i.Action).Changes(); {
		case i.Error != nil:
			lines = append(lines, line)
		case isChange && len(i.Warnings) > 0:
			warned = append(warned, line)
		case isChange:
			changed = append(changed, line)
		}
	}
	if lines = slices.Concat(lines, warned, changed); len(lines) > maxNotified {
		lines = append(lines[:maxNotified:maxNotified], fmt.Sprintf("and %d more", len(lines)-maxNotified))
	}
	return lines
}

// withPart appends prefix and text to a line, unless the line already contains the text.
func withPart(line, prefix, text string) string {
	if strings.Contains(line, text) {
		return line
	}
	return strings.TrimSuffix(line, ": ") + "; " + prefix + text
}
