package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "show which versions of a provider there are, or what one version holds",
		ArgsUsage: "SOURCE [FLAG...]",
		Description: strings.TrimSpace(`
Lists versions, newest first; a constraint keeps the list to those that match.
With one exact version: its platforms, digests, hashes and evidence. Without
--from it looks where OpenTofu would: its CLI configuration decides, and says
nothing else than the origin registry by default.

Examples:
   tofu-oci list hashicorp/aws
   tofu-oci list 'hashicorp/aws@~> 5.0' --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/null@3.2.4 --from oci-layout:mirror/{namespace}/{type} --output json`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
		}, networkFlags(), outputFlags()),
		Action: printing(list),
	}
}

func list(c *cli.Context, out *output) error {
	wanted, err := sources(c)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("list takes one SOURCE, not %d", len(wanted))
	}
	conn, err := connect(c, out)
	if err != nil {
		return err
	}
	src, err := conn.from(c)
	if err != nil {
		return err
	}
	r := wanted[0]
	if v, exact := r.Constraint.Exact(); exact {
		release, err := src.Release(c.Context, r.Address, v)
		if err != nil {
			return err
		}
		var referrers []provider.Attachment
		if from, ok := src.(referrerSource); ok {
			if referrers, err = from.Referrers(c.Context, r.Address, v); err != nil {
				return err
			}
		}
		return out.listRelease(release, referrers)
	}
	versions, err := src.Versions(c.Context, r.Address)
	if err != nil {
		return err
	}
	if !r.Constraint.IsZero() {
		if versions, err = r.Select(versions, 0); err != nil {
			return err
		}
	}
	return out.listVersions(r.Address, versions)
}

// referrerSource knows the documents that cover all platforms of a release.
type referrerSource interface {
	Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error)
}
