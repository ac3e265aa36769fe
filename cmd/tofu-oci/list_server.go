package main

import (
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// serverClient returns a client for the server of --server. If a token for the server's
// host exists, the client uses it.
func serverClient(c *cli.Context, out *report.Report) (*api.Client, error) {
	u, err := url.Parse(c.String("server"))
	if err != nil {
		return nil, usagef("invalid --server: want a URL, such as https://tofu.example.com")
	}
	cmd, err := connect(c, out)
	if err != nil {
		return nil, err
	}
	o := api.ClientOptions{HTTP: cmd.http, URL: u, PlainHTTP: c.StringSlice("plain-http")}
	client, err := api.NewClient(o)
	if err != nil {
		return nil, usagef("--server: %w", err)
	}
	host, err := provider.ParseHost(client.Host())
	if err != nil {
		return client, nil //nolint:nilerr // an address such as [::1] cannot have a token
	}
	token, err := cmd.token(c.Context, host)
	if err != nil {
		return nil, err
	}
	o.Token = token.Value
	return api.NewClient(o)
}

// listServer prints the providers of a server, the versions of a provider, or the contents of
// a version.
func listServer(c *cli.Context, out *report.Report) error {
	if c.NArg() > 1 {
		return usagef("got %d arguments: want one PROVIDER", c.NArg())
	}
	client, err := serverClient(c, out)
	if err != nil {
		return err
	}
	if !c.Args().Present() {
		found, err := client.Providers(c.Context, "")
		if err != nil {
			return err
		}
		return out.ListServedProviders(found)
	}
	wanted, err := requiredProviders(c, out)
	if err != nil {
		return err
	}
	if v, exact := wanted[0].Constraint.Exact(); exact {
		release, err := client.Version(c.Context, wanted[0].Address, v)
		if err != nil {
			return err
		}
		return out.ListServed(release)
	}
	found, err := client.Provider(c.Context, wanted[0].Address)
	if err != nil {
		return err
	}
	versions, err := found.Select(wanted[0])
	if err != nil {
		return err
	}
	return out.ListServedVersions(wanted[0].Address, versions)
}
