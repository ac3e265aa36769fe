package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// providersFlag names what is listed of a registry that does not list its repositories.
func providersFlag() cli.Flag {
	return &cli.StringFlag{Name: "providers", Usage: "`FILE` of the providers that --from has, one address a line, for registries that do not list their repositories"}
}

// providersOf reads --providers; nil where it is not given.
func providersOf(c *cli.Context) ([]provider.Address, error) {
	path := c.String("providers")
	if path == "" {
		return nil, nil
	}
	named, err := catalog.ReadFile(path)
	if err != nil {
		return nil, usagef("--providers: %w", err)
	}
	return named, nil
}

// catalog lists the repositories of registries, for package catalog.
func (cmd *command) catalog(ctx context.Context, at template.Reference) ([]string, error) {
	return repository.Catalog(ctx, at, cmd.repos)
}

// owner says whose a repository is, for package catalog.
func (cmd *command) owner(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
	repo, err := repository.Open(ref, cmd.repos)
	if err != nil {
		return provider.Address{}, false, err
	}
	return catalog.Owner(ctx, repo)
}

// listProviders shows what the repositories of --from hold.
func listProviders(c *cli.Context, out *report.Report) error {
	if !c.IsSet("from") {
		return usagef("name a PROVIDER, such as hashicorp/null; or say with --from REPO or --server URL where to list all that there are; see tofu-oci list --help")
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	l, err := cmd.listing()
	if err != nil {
		return err
	}
	return out.ListProviders(cmd.template, l)
}
