package main

import (
	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// listPending prints what waits for approval, or what one version of it holds.
func listPending(c *cli.Context, out *report.Report, cmd *command, r provider.Requirement) error {
	repo, _, err := cmd.audited(r.Address)
	if err != nil {
		return err
	}
	entries, err := approval.List(c.Context, repo)
	if err != nil {
		return err
	}
	if v, exact := r.Constraint.Exact(); exact {
		if e := entryOf(entries, v); e.Record != nil {
			if e.State == publish.Denied {
				return out.ListEntries(r.Address, []report.PendingItem{report.DescribeEntry(e)})
			}
			out.Warn("%s %s was denied before: %s", r.Address, v, e.Record)
		}
		src := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil }, cmd.aliases...)
		return listOne(c.Context, out, src, cmd.judging, r.Address, v)
	}
	return out.ListEntries(r.Address, report.PendingOf(entries, []provider.Requirement{r}))
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
