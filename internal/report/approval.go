package report

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Values of Item.Staged.
const (
	stagedPending  = string(publish.Pending)
	stagedReleased = "released"

	// needsApproval describes a pending release.
	needsApproval = "needs approval with tofu-oci promote"
)

// DenialItem is the denial of a version.
type DenialItem struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
}

func describeDenial(r *repository.DecisionRecord) *DenialItem {
	if r == nil {
		return nil
	}
	return &DenialItem{Reason: r.Reason, By: r.By}
}

// DecisionItem is a recorded decision about a release.
type DecisionItem struct {
	description.Decision
	// Repository, Provider, Version, and Index identify the release according to the
	// record.
	Repository string `json:"repository"`
	Provider   string `json:"provider"`
	Version    string `json:"version"`
	Index      string `json:"index"`
	// Digest is the digest of the record's manifest.
	Digest string `json:"digest,omitempty"`
}

func describeApproval(d *artifact.Decision) *DecisionItem {
	if d == nil {
		return nil
	}
	i := describeDecision(repository.DecisionRecord{Decision: *d})
	return &i
}

func describeDecision(r repository.DecisionRecord) DecisionItem {
	d := r.Decision
	return DecisionItem{
		Decision: description.NewDecision(r), Repository: d.Repository, Provider: d.Provider, Version: d.Version, Index: d.Index.String(),
		Digest: r.Digest.String(),
	}
}

func describeDecisions(records []repository.DecisionRecord) []DecisionItem {
	items := make([]DecisionItem, len(records))
	for n, r := range records {
		items[n] = describeDecision(r)
	}
	return items
}

func (i DecisionItem) row() string {
	remark := artifact.Decision{Reason: i.Reason, By: i.By}.String()
	signed := "decision not signed"
	if i.Key != "" {
		signed = "signed by " + i.Key
	}
	if i.Foreign {
		signed += joinWords(", but without effect, because the decision is about", i.Repository, i.Provider, i.Version, i.Index)
	}
	return cells(i.Time.Format(time.RFC3339), strings.TrimSpace(i.Kind+" "+i.Gate), i.Verdict, remark, signed)
}

// ListHistory prints the recorded decisions about a version, oldest first.
func (o *Report) ListHistory(records []repository.DecisionRecord) error {
	items, rows := describeDecisions(records), []string{}
	for _, i := range items {
		rows = append(rows, i.row())
	}
	return printItems(o, "list-history", items, none{}, fit(o.table(rows), o.columns))
}

// Decided reports the result of promote or deny.
func (o *Report) Decided(d approval.Decision) {
	repo, r := d.Repository, d.Result
	if d.Err != nil {
		o.Failed(d.Requirement, d.Version, repo, d.Err)
		return
	}
	i := Item{
		Provider: r.Address.String(), Version: r.Version.String(), Status: string(r.Status), DryRun: o.DryRun,
		Repository: repo, Tag: r.Tag, Digest: r.Digest.String(), Signature: description.NewSignature(r.Verdict), Denial: describeDenial(r.Record), Approval: describeApproval(r.Approval), Packages: describePackages(r.Packages),
	}
	status := i.Status
	if o.DryRun && r.Status != publish.Unchanged {
		status = "would be " + status
	}
	text := fmt.Sprintf("%s %s %s %s\n%s", r.Address, r.Version, status, reference(repo, r.Tag, i.Digest), o.verdict(r.Address, i.Version, r.Verdict))
	if r.Status != publish.Denied && (r.Status != publish.Unchanged || o.Verbose) {
		text += o.packageTable(i.Packages)
	}
	var details []string
	switch {
	case r.Record != nil && r.Status == publish.Denied:
		details = append(details, "denied: "+r.Record.String())
	case r.Record != nil:
		details = append(details, "previously denied: "+r.Record.String())
	}
	if r.Approval != nil && r.Approval.String() != "" {
		details = append(details, "approved: "+r.Approval.String())
	}
	if r.PendingTagError != nil {
		i.PendingTagError = r.PendingTagError.Error()
		details = append(details, pendingTagNote(r))
	}
	if r.VersionTagError != nil {
		i.VersionTagError = r.VersionTagError.Error()
		details = append(details, fmt.Sprintf("the tag %s was not deleted, so tofu init can still install the version: %v", artifact.Tag(r.Version), r.VersionTagError))
	}
	if r.RecordError != nil {
		i.RecordError = r.RecordError.Error()
		details = append(details, fmt.Sprintf("the denial was not added to the release's records: %v", r.RecordError))
	}
	o.done(i, text+detailed(details))
}

// pendingTagNote explains why a pending or pruned tag was not deleted and describes the
// consequences.
func pendingTagNote(r approval.Result) string {
	tag := cmp.Or(r.From, artifact.PendingTag(r.Version))
	switch {
	case errors.Is(r.PendingTagError, repository.ErrTagMoved):
		return fmt.Sprintf("the tag %s was kept because another release was staged; promote that release, too", tag)
	case r.Status == publish.Denied && !errors.Is(r.PendingTagError, approval.ErrPendingKept):
		return fmt.Sprintf("the tag %s was not deleted and points to the denial: %v", tag, r.PendingTagError)
	}
	return fmt.Sprintf("the tag %s was not deleted (%v), but OpenTofu ignores it; delete it with a tool for your registry", tag, r.PendingTagError)
}

// PendingItem is an item that list --pending prints.
type PendingItem struct {
	Provider  string      `json:"provider"`
	Version   string      `json:"version"`
	Status    string      `json:"status"`
	Tag       string      `json:"tag"`
	Digest    string      `json:"digest"`
	Platforms []string    `json:"platforms"`
	Denial    *DenialItem `json:"denial,omitempty"`
}

// ListPending prints pending, denied, and pruned releases. If several is true, the text
// has a column with the provider. unknown contains the repositories whose provider is
// unknown.
func (o *Report) ListPending(lists []approval.Listed, unknown []string, several bool) error {
	var items []PendingItem
	var rows []string
	for _, l := range lists {
		if l.Missing != nil {
			o.Warn("%s: %v", l.Address, l.Missing)
		}
		for _, e := range l.Entries {
			i := PendingItem{
				Provider: l.Address.String(), Version: e.Version.String(), Status: string(e.State), Tag: e.Tag, Digest: e.Digest.String(),
				Platforms: append([]string{}, text.Strings(e.Platforms)...), Denial: describeDenial(e.Record),
			}
			row := []string{i.Provider, i.Version, i.Status, strings.Join(i.Platforms, " "), pendingRemark(e)}
			if !several {
				row = row[1:]
			}
			items, rows = append(items, i), append(rows, cells(row...))
		}
	}
	if len(rows) == 0 && !o.json {
		o.Note("no pending, denied, or pruned releases")
	}
	return printItems(o, "list-pending", items, repositorySummary{unknown}, fit(o.table(rows), o.columns))
}

func pendingRemark(e approval.Entry) string {
	switch {
	case e.State == publish.Promoted:
		return "only the tag " + e.Tag + " is left"
	case e.State == approval.Pruned:
		return "can be restored with tofu-oci promote"
	case e.Record != nil && e.State == publish.Pending:
		return "previously denied: " + e.Record.String()
	case e.Record != nil:
		return e.Record.String()
	}
	return ""
}
