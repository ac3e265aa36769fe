package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// server is the API that --server names, with the token that there is for its host.
func server(c *cli.Context, out *output) (*api.Client, error) {
	u, err := url.Parse(c.String("server"))
	if err != nil {
		return nil, usagef("--server: it is no URL, such as https://tofu.example.com")
	}
	conn, err := connect(c, out)
	if err != nil {
		return nil, err
	}
	o := api.ClientOptions{HTTP: conn.http, URL: u, PlainHTTP: c.StringSlice("plain-http")}
	reader, err := api.NewClient(o)
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	host, err := provider.ParseHost(reader.Host())
	if err != nil {
		return reader, nil //nolint:nilerr // an address such as [::1] has no token
	}
	token, err := conn.token(c.Context, host)
	if err != nil {
		return nil, err
	}
	o.Token = token.Value
	return api.NewClient(o)
}

// listServer shows what a server has: its providers, a provider's versions, or what one
// version holds.
func listServer(c *cli.Context, out *output) error {
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
			out.note("%s", oneLine(warning))
		}
		items := []providerItem{}
		for _, p := range found.Providers {
			items = append(items, providerItem{p.Address, p.Repository, p.Latest})
		}
		return out.printProviders(items, nil)
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
		return out.listServed(release)
	}
	found, err := reader.Provider(c.Context, wanted[0].Address)
	if err != nil {
		return err
	}
	versions, err := meeting(wanted[0], found)
	if err != nil {
		return err
	}
	return out.listServedVersions(wanted[0].Address, versions)
}

// meeting gives the versions that meet a constraint, and without one all of them.
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

// servedVersions are the versions that a server has, newest first.
type servedVersions struct {
	Provider string           `json:"provider"`
	Versions []string         `json:"versions"`
	Details  []api.VersionRef `json:"details"`
}

// listServedVersions prints versions as a server tells them.
func (o *output) listServedVersions(a provider.Address, versions []api.VersionRef) error {
	names := []string{}
	for _, v := range versions {
		names = append(names, v.Version)
	}
	if o.json {
		return o.printDocument(documentServedVersions, servedVersions{a.String(), names, versions})
	}
	lines := &strings.Builder{}
	for _, v := range versions {
		line := v.Version
		if v.Status != api.StatusComplete {
			line += "  " + v.Status + ": " + oneLine(v.Problem)
		}
		_, _ = fmt.Fprintln(lines, line)
	}
	_, err := io.WriteString(o.stdout, printable(lines.String()))
	return err
}

// listServed prints what a version holds as a server tells it.
func (o *output) listServed(r api.Version) error {
	if o.json {
		return o.printDocument(documentServedRelease, r)
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s\n", oneLine(r.Provider.Address), oneLine(r.Version))
	if len(r.Protocols) > 0 {
		_, _ = fmt.Fprintf(lines, "protocols %s\n", oneLine(strings.Join(r.Protocols, ", ")))
	}
	if r.Status != api.StatusComplete {
		_, _ = fmt.Fprintf(lines, "%s: %s\n", oneLine(r.Status), oneLine(r.Problem))
	}
	_, _ = fmt.Fprintf(lines, "%s\n", oneLine(verdictText(r)))
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, p := range r.Packages {
		_, _ = fmt.Fprintln(table, cells(p.Platform, p.Filename, size(p.Size), p.Digest, cmp.Or(p.H1, p.Problem)))
		for _, d := range p.Documents {
			_, _ = fmt.Fprintln(table, cells("evidence", d.Name, size(d.Size), d.MediaType, d.Platform))
		}
	}
	for _, d := range r.Evidence {
		_, _ = fmt.Fprintln(table, cells("evidence", d.Name, size(d.Size), d.MediaType, ""))
	}
	for _, d := range r.Referrers {
		_, _ = fmt.Fprintln(table, cells("referrer", d.Name, size(d.Size), d.MediaType, ""))
	}
	for _, f := range r.Findings {
		_, _ = fmt.Fprintln(table, cells(f.Severity, f.Code, "", oneLine(f.Problem), f.Platform))
	}
	_ = table.Flush()
	_, err := io.WriteString(o.stdout, printable(lines.String()))
	return err
}

// verdictText says what the server says that a signature proves.
func verdictText(r api.Version) string {
	switch {
	case r.Verdict == nil:
		return "not judged: " + r.Unverified
	case r.Verdict.Refused != "":
		return r.Verdict.Text + "; refused: " + r.Verdict.Refused
	}
	return r.Verdict.Text
}
