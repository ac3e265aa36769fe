package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// listAllPending prints the pending releases of the specified PROVIDERs. If no
// PROVIDERs are specified, it prints the pending releases of all providers in the
// repositories of --from.
func listAllPending(c *cli.Context, out *report.Report) error {
	wanted, err := providers(c, c.Args().Slice(), out)
	if err != nil {
		return err
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	var unknown []string
	if !hasProviders(c) {
		l, err := cmd.catalogListing()
		if err != nil {
			return err
		}
		wanted = l.Requirements()
		unknown = out.Unknown(l)
	}
	lists, err := approval.ListMany(c.Context, wanted, cmd.openSource)
	if err != nil {
		return err
	}
	return out.ListAllPending(lists, wanted, unknown)
}

// listPending prints the pending releases of a provider, or the contents of one exact version.
func listPending(c *cli.Context, out *report.Report, cmd *command, r provider.Requirement) error {
	repo, _, err := cmd.openFrom(r.Address)
	if err != nil {
		return err
	}
	entries, err := approval.List(c.Context, repo)
	if err != nil {
		return err
	}
	v, exact := r.Constraint.Exact()
	decided := slices.ContainsFunc(entries, func(e approval.Entry) bool {
		return e.Version == v && (e.State == publish.Denied || e.State == approval.Pruned)
	})
	if !exact || decided {
		return out.ListPending(report.PendingOf(r.Address, entries, r), nil, false)
	}
	for _, e := range entries {
		if e.Version == v && e.Record != nil {
			out.Warn("%s %s was denied before: %s", r.Address, v, e.Record)
		}
	}
	src := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil }, cmd.aliases...)
	return listVersion(c.Context, out, src, cmd.policy, r.Address, v)
}
