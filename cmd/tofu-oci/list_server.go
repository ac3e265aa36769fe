package main

import (
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// server is the API that --server names, with the token that there is for its host.
func server(c *cli.Context, out *report.Report) (*api.Client, error) {
	u, err := url.Parse(c.String("server"))
	if err != nil {
		return nil, usagef("--server: it is no URL, such as https://tofu.example.com")
	}
	cmd, err := connect(c, out)
	if err != nil {
		return nil, err
	}
	o := api.ClientOptions{HTTP: cmd.http, URL: u, PlainHTTP: c.StringSlice("plain-http")}
	reader, err := api.NewClient(o)
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	host, err := provider.ParseHost(reader.Host())
	if err != nil {
		return reader, nil //nolint:nilerr // an address such as [::1] has no token
	}
	token, err := cmd.token(c.Context, host)
	if err != nil {
		return nil, err
	}
	o.Token = token.Value
	return api.NewClient(o)
}

// listServer shows what a server has: its providers, a provider's versions, or what one
// version holds.
func listServer(c *cli.Context, out *report.Report) error {
	if c.NArg() > 1 {
		return usagef("list takes one PROVIDER, not %d", c.NArg())
	}
	reader, err := server(c, out)
	if err != nil {
		return err
	}
	if !c.Args().Present() {
		found, err := reader.Providers(c.Context, "")
		if err != nil {
			return err
		}
		for _, warning := range found.Warnings {
			out.Note("%s", report.OneLine(warning))
		}
		items := []report.ProviderItem{}
		for _, p := range found.Providers {
			items = append(items, report.ProviderItem{Provider: p.Address, Repository: p.Repository, Latest: p.Latest})
		}
		return out.PrintProviders(items, nil)
	}
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	if v, exact := wanted[0].Constraint.Exact(); exact {
		release, err := reader.Version(c.Context, wanted[0].Address, v)
		if err != nil {
			return err
		}
		return out.ListServed(release)
	}
	found, err := reader.Provider(c.Context, wanted[0].Address)
	if err != nil {
		return err
	}
	versions, err := meeting(wanted[0], found)
	if err != nil {
		return err
	}
	return out.ListServedVersions(wanted[0].Address, versions)
}

// meeting returns the versions that meet a constraint, and without one all of them.
func meeting(wanted provider.Requirement, found api.Provider) ([]api.VersionRef, error) {
	known := map[provider.Version]api.VersionRef{}
	var there []provider.Version
	for _, ref := range found.Versions {
		if v, err := provider.ParseVersion(ref.Version); err == nil {
			known[v], there = ref, append(there, v)
		}
	}
	there = provider.NewestFirst(there)
	if !wanted.Constraint.IsZero() {
		var err error
		if there, err = wanted.Select(there, 0); err != nil {
			return nil, err
		}
	}
	refs := []api.VersionRef{}
	for _, v := range there {
		ref := known[v]
		ref.URL = ""
		refs = append(refs, ref)
	}
	return refs, nil
}
