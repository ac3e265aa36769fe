package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "show which versions of a provider there are, or what one version holds",
		ArgsUsage: "PROVIDER [FLAG...]",
		Description: strings.TrimSpace(`
Lists versions, newest first; a constraint keeps the list to those that match.
With one exact version: its platforms, digests, hashes and evidence, what its
signature proves, and whether pull would refuse it for that. Without
--from it looks where OpenTofu would: its CLI configuration decides, and says
nothing else than the origin registry by default.

Examples:
   tofu-oci list hashicorp/aws
   tofu-oci list 'hashicorp/aws@~> 5.0' --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/null@3.2.4 --from oci-layout:mirror/{namespace}/{type} --output json`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
			aliasFlag(),
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: printing(list),
	}
}

func list(c *cli.Context, out *output) error {
	wanted, err := requirements(c)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("list takes one PROVIDER, not %d", len(wanted))
	}
	judging, err := policy(c)
	if err != nil {
		return err
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
		verdict, err := judging.Judge(c.Context, release)
		refused, isRefused := errors.AsType[*trust.RefusedError](err)
		if err != nil && !isRefused {
			return err
		}
		var referrers []provider.Document
		if about := provider.CapabilitiesOf(src).Documents; about != nil {
			if referrers, err = about(c.Context, release); err != nil {
				return err
			}
		}
		return out.listRelease(release, referrers, verdict, refused)
	}
	versions, err := listed(c.Context, src, r)
	if err != nil {
		return err
	}
	return out.listVersions(r.Address, versions)
}

// listed gives the versions that meet a constraint, and without one all of them,
// pre-releases too.
func listed(ctx context.Context, src provider.Source, r provider.Requirement) ([]provider.Version, error) {
	if r.Constraint.IsZero() {
		return src.Versions(ctx, r.Address)
	}
	return source.Resolve(ctx, src, r, 0)
}
