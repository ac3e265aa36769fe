package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// What became of a release that was to be staged, beside being denied.
const (
	stagedPending  = string(approval.StatePending)
	stagedReleased = "released"
)

// denialItem is a denial as --output json shows it.
type DenialItem struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
}

// approvalItem is an approval as --output json shows it.
type ApprovalItem struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

func describeApproval(a *artifact.Approval) *ApprovalItem {
	if a == nil {
		return nil
	}
	return &ApprovalItem{a.Reason, a.By}
}

func describeDenial(r *repository.DenialRecord) *DenialItem {
	if r == nil {
		return nil
	}
	return &DenialItem{Reason: r.Reason, By: r.By}
}

// decided reports what promote or deny has done.
func (o *Report) Decided(repo string, r approval.Result) {
	i := Item{
		Provider: r.Address.String(), Version: r.Version.String(), Status: string(r.Status), DryRun: o.DryRun,
		Repository: repo, Tag: r.Tag, Digest: r.Digest.String(), Signature: describeVerdict(r.Verdict), Denial: describeDenial(r.Record), Approval: describeApproval(r.Approval),
	}
	status := i.Status
	if o.DryRun && r.Status != approval.Unchanged {
		status = "would be " + status
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s %s %s:%s@%s\n", r.Address, r.Version, status, repo, r.Tag, r.Digest)
	lines.WriteString(o.Verdict(r.Address, i.Version, r.Verdict))
	for _, p := range r.Packages {
		i.Packages = append(i.Packages, describe(p, ""))
	}
	if r.Status != approval.Denied && (r.Status != approval.Unchanged || o.Verbose) {
		writePackages(lines, i.Packages)
	}
	if r.Record != nil {
		said := "denied"
		if r.Status != approval.Denied {
			said = "it was denied before"
		}
		_, _ = fmt.Fprintf(lines, "  %s: %s\n", said, OneLine(r.Record.String()))
	}
	if r.Approval != nil {
		_, _ = fmt.Fprintf(lines, "  approved: %s\n", OneLine(r.Approval.String()))
	}
	if r.Stays != nil {
		i.Stays = r.Stays.Error()
		lines.WriteString("  " + stays(r) + "\n")
	}
	if r.Live != nil {
		i.Live = r.Live.Error()
		_, _ = fmt.Fprintf(lines, "  the tag %s stays, so a plain tofu init can still install the version: %s\n", artifact.Tag(r.Version), OneLine(r.Live.Error()))
	}
	o.Done(i, lines.String())
}

// skipped reports a denied version that was not named exactly.
func (o *Report) Skipped(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version) error {
	record, err := repository.ReadDenial(ctx, repo, v)
	if err != nil {
		return err
	}
	o.Decided(repo.String(), approval.Result{Address: a, Version: v, Status: approval.Denied, Tag: record.Tag, Digest: record.Digest, Record: &record})
	return nil
}

// stays says why a pending tag is still there, and what that means.
func stays(r approval.Result) string {
	tag := artifact.PendingTag(r.Version)
	switch {
	case errors.Is(r.Stays, repository.ErrTagMoved):
		return fmt.Sprintf("the tag %s stays: more was staged meanwhile, promote it too", tag)
	case r.Status == approval.Denied:
		return fmt.Sprintf("the tag %s stays, and names the denial: %s", tag, OneLine(r.Stays.Error()))
	}
	return fmt.Sprintf("the tag %s stays, which does no harm: OpenTofu does not see it; delete it in the registry's own way: %s", tag, OneLine(r.Stays.Error()))
}

const nothingPending = "nothing waits for approval, and nothing was denied"

// pendingList is what list --pending prints of one provider.
type PendingList struct {
	Provider string        `json:"provider"`
	Pending  []PendingItem `json:"pending"`
}

// pendingItem is an entry of list --pending.
type PendingItem struct {
	Version   string      `json:"version"`
	State     string      `json:"state"`
	Tag       string      `json:"tag"`
	Digest    string      `json:"digest"`
	Platforms []string    `json:"platforms"`
	Denial    *DenialItem `json:"denial,omitempty"`
}

func DescribeEntry(e approval.Entry) PendingItem {
	i := PendingItem{
		Version: e.Version.String(), State: string(e.State), Tag: e.Tag, Digest: e.Digest.String(),
		Platforms: []string{}, Denial: describeDenial(e.Record),
	}
	for _, p := range e.Platforms {
		i.Platforms = append(i.Platforms, p.String())
	}
	return i
}

func (o *Report) ListEntries(a provider.Address, items []PendingItem) error {
	if o.json {
		return o.PrintDocument(documentPending, PendingList{a.String(), items})
	}
	if len(items) == 0 {
		o.Note(nothingPending)
	}
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, i := range items {
		_, _ = fmt.Fprintln(table, cells(i.Version, i.State, strings.Join(i.Platforms, " "), i.remark()))
	}
	_ = table.Flush()
	_, err := fmt.Fprint(o.stdout, Printable(lines.String()))
	return err
}

func (i PendingItem) remark() string {
	switch {
	case i.State == string(approval.StatePromoted):
		return "only the tag " + i.Tag + " is left"
	case i.Denial == nil:
		return ""
	}
	said := artifact.Denial{Reason: i.Denial.Reason, By: i.Denial.By}.String()
	if i.State == string(approval.StatePending) {
		return "denied before: " + said
	}
	return said
}

// allPending is what list --pending prints of several providers.
type AllPending struct {
	// Providers are those that were looked at.
	Providers []PendingList `json:"providers"`
	// Unknown are repositories that do not say whose they are.
	Unknown []string `json:"unknown,omitempty"`
}

// PendingOf describes the entries of a provider that one of the requirements means.
func PendingOf(entries []approval.Entry, wanted []provider.Requirement) []PendingItem {
	items := []PendingItem{}
	for _, e := range entries {
		if slices.ContainsFunc(wanted, func(r provider.Requirement) bool {
			return r.Constraint.IsZero() || r.Constraint.Allows(e.Version)
		}) {
			items = append(items, DescribeEntry(e))
		}
	}
	return items
}

func (o *Report) ListAllEntries(found AllPending) error {
	if o.json {
		return o.PrintDocument(documentAllPending, found)
	}
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, l := range found.Providers {
		for _, i := range l.Pending {
			_, _ = fmt.Fprintln(table, cells(l.Provider, i.Version, i.State, strings.Join(i.Platforms, " "), i.remark()))
		}
	}
	_ = table.Flush()
	if lines.Len() == 0 {
		o.Note(nothingPending)
	}
	_, err := fmt.Fprint(o.stdout, Printable(lines.String()))
	return err
}
