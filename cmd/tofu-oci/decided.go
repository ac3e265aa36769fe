package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// What became of a release that was to be staged, beside being denied.
const (
	stagedPending  = string(approval.StatePending)
	stagedReleased = "released"
)

// denialItem is a denial as --output json shows it.
type denialItem struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
}

// approvalItem is an approval as --output json shows it.
type approvalItem struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

func describeApproval(a *artifact.Approval) *approvalItem {
	if a == nil {
		return nil
	}
	return &approvalItem{a.Reason, a.By}
}

func describeDenial(r *repository.DenialRecord) *denialItem {
	if r == nil {
		return nil
	}
	return &denialItem{Reason: r.Reason, By: r.By}
}

// decided reports what promote or deny has done.
func (o *output) decided(repo string, r approval.Result, dryRun bool) {
	i := item{
		Provider: r.Address.String(), Version: r.Version.String(), Status: string(r.Status), DryRun: dryRun,
		Repository: repo, Tag: r.Tag, Digest: r.Digest.String(), Signature: describeVerdict(r.Verdict), Denial: describeDenial(r.Record), Approval: describeApproval(r.Approval),
	}
	status := i.Status
	if dryRun && r.Status != approval.Unchanged {
		status = "would be " + status
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s %s %s:%s@%s\n", r.Address, r.Version, status, repo, r.Tag, r.Digest)
	lines.WriteString(o.verdict(r.Address, i.Version, r.Verdict))
	for _, p := range r.Packages {
		i.Packages = append(i.Packages, describe(p, ""))
	}
	if r.Status != approval.Denied && (r.Status != approval.Unchanged || o.verbose) {
		writePackages(lines, i.Packages)
	}
	if r.Record != nil {
		said := "denied"
		if r.Status != approval.Denied {
			said = "it was denied before"
		}
		_, _ = fmt.Fprintf(lines, "  %s: %s\n", said, oneLine(r.Record.String()))
	}
	if r.Approval != nil {
		_, _ = fmt.Fprintf(lines, "  approved: %s\n", oneLine(r.Approval.String()))
	}
	if r.Stays != nil {
		i.Stays = r.Stays.Error()
		lines.WriteString("  " + stays(r) + "\n")
	}
	if r.Live != nil {
		i.Live = r.Live.Error()
		_, _ = fmt.Fprintf(lines, "  the tag %s stays, so a plain tofu init can still install the version: %s\n", artifact.Tag(r.Version), oneLine(r.Live.Error()))
	}
	o.done(i, lines.String())
}

// skipped reports a denied version that was not named exactly.
func (o *output) skipped(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version, dryRun bool) error {
	record, err := repository.ReadDenial(ctx, repo, v)
	if err != nil {
		return err
	}
	o.decided(repo.String(), approval.Result{Address: a, Version: v, Status: approval.Denied, Tag: record.Tag, Digest: record.Digest, Record: &record}, dryRun)
	return nil
}

// stays says why a pending tag is still there, and what that means.
func stays(r approval.Result) string {
	tag := artifact.PendingTag(r.Version)
	switch {
	case errors.Is(r.Stays, repository.ErrTagMoved):
		return fmt.Sprintf("the tag %s stays: more was staged meanwhile, promote it too", tag)
	case r.Status == approval.Denied:
		return fmt.Sprintf("the tag %s stays, and names the denial: %s", tag, oneLine(r.Stays.Error()))
	}
	return fmt.Sprintf("the tag %s stays, which does no harm: OpenTofu does not see it; delete it in the registry's own way: %s", tag, oneLine(r.Stays.Error()))
}

const nothingPending = "nothing waits for approval, and nothing was denied"

// pendingList is what list --pending prints of one provider.
type pendingList struct {
	Provider string        `json:"provider"`
	Pending  []pendingItem `json:"pending"`
}

// pendingItem is an entry of list --pending.
type pendingItem struct {
	Version   string      `json:"version"`
	State     string      `json:"state"`
	Tag       string      `json:"tag"`
	Digest    string      `json:"digest"`
	Platforms []string    `json:"platforms"`
	Denial    *denialItem `json:"denial,omitempty"`
}

// listPending prints what waits for approval, or what one version of it holds.
func listPending(c *cli.Context, out *output, conn *connection, r provider.Requirement, judging trust.Policy) error {
	repo, _, err := conn.audited(c, r.Address)
	if err != nil {
		return err
	}
	entries, err := approval.List(c.Context, repo)
	if err != nil {
		return err
	}
	if v, exact := r.Constraint.Exact(); exact {
		if e := entryOf(entries, v); e.Record != nil {
			if e.State == approval.StateDenied {
				return out.listEntries(r.Address, []pendingItem{describeEntry(e)})
			}
			out.warn("%s %s was denied before: %s", r.Address, v, e.Record)
		}
		src := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil }, conn.aliases...)
		return out.listOne(c.Context, src, judging, r.Address, v)
	}
	return out.listEntries(r.Address, itemsOf(entries, []provider.Requirement{r}))
}

func describeEntry(e approval.Entry) pendingItem {
	i := pendingItem{
		Version: e.Version.String(), State: string(e.State), Tag: e.Tag, Digest: e.Digest.String(),
		Platforms: []string{}, Denial: describeDenial(e.Record),
	}
	for _, p := range e.Platforms {
		i.Platforms = append(i.Platforms, p.String())
	}
	return i
}

func (o *output) listEntries(a provider.Address, items []pendingItem) error {
	if o.json {
		return o.printDocument(documentPending, pendingList{a.String(), items})
	}
	if len(items) == 0 {
		o.note(nothingPending)
	}
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, i := range items {
		_, _ = fmt.Fprintln(table, cells(i.Version, i.State, strings.Join(i.Platforms, " "), i.remark()))
	}
	_ = table.Flush()
	_, err := fmt.Fprint(o.stdout, printable(lines.String()))
	return err
}

func (i pendingItem) remark() string {
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

// entryOf finds the entry of a version, the zero value where there is none.
func entryOf(entries []approval.Entry, v provider.Version) approval.Entry {
	for _, e := range entries {
		if e.Version == v {
			return e
		}
	}
	return approval.Entry{}
}
