package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// maxNamed is how many repositories a note names.
const maxNamed = 5

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
func (conn *connection) catalog(ctx context.Context, at template.Reference) ([]string, error) {
	return repository.Catalog(ctx, at, conn.repos)
}

// owner says whose a repository is, for package catalog.
func (conn *connection) owner(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
	repo, err := repository.Open(ref, conn.repos)
	if err != nil {
		return provider.Address{}, false, err
	}
	return catalog.Owner(ctx, repo)
}

// listProviders shows what the repositories of --from hold.
func listProviders(c *cli.Context, out *output) error {
	if !c.IsSet("from") {
		return usagef("name a PROVIDER, such as hashicorp/null; or say with --from REPO or --server URL where to list all that there are; see tofu-oci list --help")
	}
	t, err := repositoryTemplate(c, "from")
	if err != nil {
		return err
	}
	conn, err := connect(c, out)
	if err != nil {
		return err
	}
	l, err := listing(c, conn)
	if err != nil {
		return err
	}
	return out.listProviders(t, l)
}

// providerItem is a provider as --output json lists it.
type providerItem struct {
	Provider   string `json:"provider"`
	Repository string `json:"repository,omitempty"`
	// Latest is the newest version, where that was said.
	Latest string `json:"latest,omitempty"`
}

// listProviders prints providers, sorted by address.
func (o *output) listProviders(t template.Template, l catalog.Listing) error {
	items := []providerItem{}
	for _, e := range l.Entries {
		items = append(items, providerItem{Provider: e.Address.String(), Repository: e.Reference.String()})
	}
	unknown := o.unknown(l)
	if len(items) == 0 {
		o.note("there is no provider in the repositories of %s", t.Redacted())
	}
	return o.printProviders(items, unknown)
}

// unknown tells of the repositories that do not say whose they are.
func (o *output) unknown(l catalog.Listing) []string {
	unknown := []string{}
	for _, ref := range l.Unknown {
		unknown = append(unknown, ref.String())
	}
	if len(unknown) > 0 {
		o.note("not listed, since nothing in them says whose they are: %s", someOf(unknown))
	}
	return unknown
}

// someOf names some of many.
func someOf(names []string) string {
	if left := len(names) - maxNamed; left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), left)
	}
	return strings.Join(names, ", ")
}

// providerList are the providers that there are.
type providerList struct {
	Providers []providerItem `json:"providers"`
	// Unknown are repositories that do not say whose they are.
	Unknown []string `json:"unknown,omitempty"`
}

func (o *output) printProviders(items []providerItem, unknown []string) error {
	if o.json {
		return o.printDocument(documentProviders, providerList{items, unknown})
	}
	for _, p := range items {
		if _, err := fmt.Fprintln(o.stdout, printable(p.Provider)); err != nil {
			return err
		}
	}
	return nil
}
