package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func listCommand() *cli.Command {
	return newCommand("list", listing(list), []cli.Flag{
		fromFlag("read `REPO` (default: from the CLI configuration)"),
		&cli.BoolFlag{Name: "pending", Category: commandline.GroupSelection, Usage: "list pending, denied, and pruned releases"},
		historyFlag(),
		sourcesFlag(),
		aliasFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
}

// listing returns an action that runs do. For missing versions, the action replaces the
// default hint, which suggests tofu-oci list.
func listing(do func(*command) error) func(*command) error {
	return func(cmd *command) error {
		err := do(cmd)
		if errors.Is(err, provider.ErrVersionNotFound) {
			return explain.WithHint(err, cmd.remedies().Find(cmd.c.Context, err))
		}
		return err
	}
}

func list(cmd *command) error {
	if err := cmd.prepare(); err != nil {
		return err
	}
	switch {
	case cmd.c.Bool("pending") && (cmd.c.NArg() != 1 || cmd.c.IsSet("sources")):
		return listAllPending(cmd)
	case !cmd.c.Args().Present():
		return listProviders(cmd)
	}
	r, err := requiredProvider(cmd)
	if err != nil {
		return err
	}
	src, err := cmd.source()
	if err != nil {
		return err
	}
	return listSelected(cmd, src, r)
}

// listSelected prints the versions that a requirement selects, or the details that a
// flag requests.
func listSelected(cmd *command, src provider.Source, r provider.Requirement) error {
	switch {
	case cmd.c.Bool("history"):
		return listHistory(cmd, r)
	case cmd.c.Bool("pending"):
		return listPending(cmd, r)
	}
	if v, exact := r.Constraint.Exact(); exact {
		return listVersion(cmd, src, r.Address, v)
	}
	versions, err := matchingVersions(cmd.c.Context, src, r)
	if err != nil {
		return err
	}
	cmd.warnDenied(src, r, 0)
	if len(versions) == 0 {
		cmd.noteNoRelease(r)
	}
	return cmd.out.ListVersions(r.Address, versions)
}

// noteNoRelease prints a note about an empty list, because the repository can contain
// pending versions.
func (cmd *command) noteNoRelease(r provider.Requirement) {
	note := fmt.Sprintf("%s has no releases", r.Address)
	if pending := cmd.remedies().Find(cmd.c.Context, &provider.VersionError{Address: r.Address, Wanted: r.Constraint}); pending != "" {
		note += "; " + pending
	}
	cmd.out.Note("%s", note)
}

// matchingVersions returns the versions that meet a constraint. Without a constraint, it
// returns all versions including pre-releases.
func matchingVersions(ctx context.Context, src provider.Source, r provider.Requirement) ([]provider.Version, error) {
	if r.Constraint.IsZero() {
		return src.Versions(ctx, r.Address)
	}
	return source.Resolve(ctx, src, r, 0)
}

func historyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "history", Category: commandline.GroupSelection, Usage: "list the recorded decisions about a version"}
}

// listHistory prints the recorded decisions about a version.
func listHistory(cmd *command, r provider.Requirement) error {
	v, exact := r.Constraint.Exact()
	if !exact {
		return usagef("--history requires a version: %s@VERSION", r.Address)
	}
	repo, _, err := cmd.openFrom(r.Address)
	if err != nil {
		return err
	}
	records, err := approval.History(cmd.c.Context, repo, r.Address, v)
	if err != nil {
		return err
	}
	return cmd.out.ListHistory(records)
}

// listVersion prints the contents of a version.
func listVersion(cmd *command, src provider.Source, a provider.Address, v provider.Version) error {
	ctx := cmd.c.Context
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return err
	}
	verdict, err := cmd.policy.Verify(ctx, release)
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if err != nil && !isRefused {
		return err
	}
	if release, err = provider.WithAttestations(ctx, src, release); err != nil {
		return err
	}
	var referrers []provider.Document
	if documents := provider.CapabilitiesOf(src).Documents; documents != nil {
		if referrers, err = documents(ctx, release); err != nil {
			return err
		}
	}
	return cmd.out.ListRelease(release, referrers, verdict, refused)
}

// listProviders prints the providers in the --from repositories or, without the flag, in
// the repositories of the first oci_mirror in the CLI configuration.
func listProviders(cmd *command) error {
	if !cmd.c.IsSet("from") {
		m, found := cmd.config.FirstOCIMirror()
		if !found {
			return usagef("the CLI configuration has no oci_mirror; specify a PROVIDER, such as hashicorp/null, or list all providers with --from REPO")
		}
		cmd.out.Note("listing the providers of %s", m)
		cmd.from = m.Template
	}
	wanted, err := providers(cmd)
	if err != nil {
		return err
	}
	l, err := cmd.catalogListing(addresses(wanted)...)
	if err != nil {
		return err
	}
	return cmd.out.ListProviders(cmd.from, l)
}

// catalogListing returns the providers in the --from repositories. If named is not
// empty, it returns only the named providers, so that the registry doesn't have to list
// its repositories.
func (cmd *command) catalogListing(named ...provider.Address) (catalog.Listing, error) {
	o := cmd.catalogOptions()
	o.Named = named
	return catalog.List(cmd.c.Context, cmd.from, o)
}

func (cmd *command) catalogOptions() catalog.Options {
	return catalog.Options{Names: cmd.repositoryNames, Open: cmd.open}
}

// repositoryNames lists the repositories of a registry.
func (cmd *command) repositoryNames(ctx context.Context, at template.Reference) ([]string, error) {
	return repository.Catalog(ctx, at, cmd.repos)
}

// listAllPending prints the pending releases of the specified PROVIDERs. If no
// PROVIDERs are specified, it prints the pending releases of all providers in the
// --from repositories.
func listAllPending(cmd *command) error {
	wanted, err := providers(cmd)
	if err != nil {
		return err
	}
	var unknown []string
	if !hasProviders(cmd.c) {
		l, err := cmd.catalogListing()
		if err != nil {
			return err
		}
		wanted = l.Requirements()
		unknown = cmd.out.Unknown(l)
	}
	return cmd.printPending(wanted, unknown)
}

// printPending prints the pending releases of providers or modules. unknown contains the
// repositories whose provider is unknown.
func (cmd *command) printPending(wanted []provider.Requirement, unknown []string) error {
	lists, err := approval.ListMany(cmd.c.Context, wanted, cmd.openSource)
	if err != nil {
		return err
	}
	return cmd.out.ListPending(lists, unknown, true)
}

// listPending prints the pending releases of a provider, or the contents of one exact
// version.
func listPending(cmd *command, r provider.Requirement) error {
	repo, _, err := cmd.openFrom(r.Address)
	if err != nil {
		return err
	}
	entries, err := approval.List(cmd.c.Context, repo, r.Constraint)
	if err != nil {
		return err
	}
	v, exact := r.Constraint.Exact()
	decided := slices.ContainsFunc(entries, func(e approval.Entry) bool {
		return e.State == publish.Denied || e.State == approval.Pruned
	})
	if !exact || decided {
		return cmd.out.ListPending([]approval.Listed{{Address: r.Address, Entries: entries}}, nil, false)
	}
	for _, e := range entries {
		if e.Record != nil {
			cmd.out.Warn("%s %s was previously denied: %s", r.Address, v, e.Record)
		}
	}
	src := oci.NewPending(func(provider.Address) (repository.Reader, error) { return repo, nil }, cmd.aliases...)
	return listVersion(cmd, src, r.Address, v)
}
