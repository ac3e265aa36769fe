package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// maxPendingRepositories is how many repositories list --pending asks at once.
const maxPendingRepositories = 8

// listAllPending prints what waits for approval of several providers: of those that are
// named, else of all in the repositories of --from.
func listAllPending(c *cli.Context, out *report.Report) error {
	wanted, err := named(c, c.Args().Slice(), out)
	if err != nil {
		return err
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	var unknown []string
	if !namesProviders(c) {
		l, err := cmd.listing()
		if err != nil {
			return err
		}
		for _, e := range l.Entries {
			wanted = append(wanted, provider.Requirement{Address: e.Address})
		}
		unknown = out.Unknown(l)
	}
	items, err := pendingOf(c, out, cmd, byProvider(wanted))
	if err != nil {
		return err
	}
	return out.ListPending(items, unknown, true)
}

// listing returns the providers that lie in the repositories of --from.
func (cmd *command) listing() (catalog.Listing, error) {
	known, err := providersOf(cmd.c)
	if err != nil {
		return catalog.Listing{}, err
	}
	return catalog.List(cmd.c.Context, cmd.template, catalog.Options{Names: cmd.catalog, Owner: cmd.owner, Named: known})
}

// pendingOf asks for what waits, of each provider once, in their order.
func pendingOf(c *cli.Context, out *report.Report, cmd *command, wanted [][]provider.Requirement) ([]report.PendingItem, error) {
	lists, absent := make([][]report.PendingItem, len(wanted)), make([]error, len(wanted))
	group, ctx := errgroup.WithContext(c.Context)
	group.SetLimit(maxPendingRepositories)
	for n, of := range wanted {
		a := of[0].Address
		group.Go(func() error {
			entries, err := cmd.entries(ctx, a)
			if errors.Is(err, repository.ErrNoRepository) {
				absent[n], err = err, nil
			}
			lists[n] = report.PendingOf(a, entries, of...)
			if err != nil {
				err = fmt.Errorf("%s: %w", a, err)
			}
			return err
		})
	}
	err := group.Wait()
	for n, of := range wanted {
		if err == nil && absent[n] != nil {
			out.Warn("%s: %v", of[0].Address, absent[n])
		}
	}
	return slices.Concat(lists...), err
}

// entries returns what was staged of a provider.
func (cmd *command) entries(ctx context.Context, a provider.Address) ([]approval.Entry, error) {
	repo, _, err := cmd.audited(a)
	if err != nil {
		return nil, err
	}
	return approval.List(ctx, repo)
}

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
	v, exact := r.Constraint.Exact()
	denied := slices.ContainsFunc(entries, func(e approval.Entry) bool { return e.Version == v && e.State == publish.Denied })
	if !exact || denied {
		return out.ListPending(report.PendingOf(r.Address, entries, r), nil, false)
	}
	for _, e := range entries {
		if e.Version == v && e.Record != nil {
			out.Warn("%s %s was denied before: %s", r.Address, v, e.Record)
		}
	}
	src := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil }, cmd.aliases...)
	return listOne(c.Context, out, src, cmd.judging, r.Address, v)
}
