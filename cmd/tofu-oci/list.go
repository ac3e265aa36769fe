package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "show which providers or versions there are, or what one version holds",
		ArgsUsage: "[PROVIDER...] [FLAG...]",
		Description: strings.TrimSpace(`
Lists versions, newest first; a constraint keeps the list to those that match.
With one exact version: its date, platforms, digests, hashes and evidence, what its
signature proves, and whether pull would refuse it for that. Without
--from it looks where OpenTofu would: its CLI configuration decides, and says
nothing else than the origin registry by default.

Without PROVIDER: the providers that lie in the repositories of --from, one a line.
Image layouts are found by their directories. A registry is asked for the list of
its repositories, which not all have, and few show to everybody; --providers names
them where it has none. Each repository is asked whose it is, unless its name says
it with {hostname}: most templates leave the host out.

With --server it asks a server of tofu-oci serve for the same, with the token that
TF_TOKEN_… or the CLI configuration has for its host.

--check-level LEVEL looks at each version, and marks those that are not complete, with why and
the command that repairs them; exit code 4 tells that there are some. Levels are those
of tofu-oci mirror:
   index      the tag names an index of this provider
   manifests  the manifests of its platforms are there
   blobs      so are zips, sums and signatures, in their size
   deep       they are read, and have their digests
An incomplete version lacks something that some platform needs; a broken one can't be
installed at all. What evidence is worth, tofu-oci verify says.

--pending lists what mirror --stage has put aside, which nobody installs: each
version with its state, pending or denied, and why. With one exact version, it is
what that holds, for whoever is to promote it. It takes several PROVIDERs, or
--sources; without any it looks at all that lie in the repositories of --from.

Examples:
   tofu-oci list hashicorp/aws
   tofu-oci list 'hashicorp/aws@~> 5.0' --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/aws --check-level blobs --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/null@3.2.4 --from oci-layout:mirror/{namespace}/{type} --output json
   tofu-oci list --from oci-layout:mirror/{namespace}/{type}
   tofu-oci list hashicorp/aws --server https://tofu.example.com
   tofu-oci list hashicorp/null --pending --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list --pending --from ghcr.io/acme/providers/{namespace}/{type}`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
			&cli.StringFlag{Name: "check-level", Usage: "mark versions that are incomplete or broken, looking as hard as `LEVEL` index, manifests, blobs or deep, see above"},
			&cli.BoolFlag{Name: "pending", Usage: "what waits for approval since mirror --stage, and what was denied"},
			sourcesFlag(),
			&cli.StringFlag{Name: "server", Usage: "`URL` of a server of tofu-oci serve to ask instead"},
			providersFlag(),
			aliasFlag(),
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: printing(func(c *cli.Context, out *report.Report) error {
			err := list(c, out)
			if errors.Is(err, provider.ErrVersionNotFound) {
				return explain.WithHint(err, "") // which would be to list
			}
			return err
		}),
	}
}

func list(c *cli.Context, out *report.Report) error {
	switch {
	case c.IsSet("server"):
		return listServer(c, out)
	case c.Bool("pending") && (c.NArg() != 1 || c.IsSet("sources")):
		return listAllPending(c, out)
	case !c.Args().Present():
		return listProviders(c, out)
	}
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("list takes one PROVIDER, not %d", len(wanted))
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	r := wanted[0]
	if c.Bool("pending") {
		return listPending(c, out, cmd, r)
	}
	if c.IsSet("check-level") {
		return listChecked(c, out, cmd, r)
	}
	src, err := cmd.from()
	if err != nil {
		return err
	}
	if v, exact := r.Constraint.Exact(); exact {
		return listOne(c.Context, out, src, cmd.judging, r.Address, v)
	}
	versions, err := listed(c.Context, src, r)
	if err != nil {
		return err
	}
	warnDenied(c.Context, out, src, r, 0)
	return out.ListVersions(r.Address, versions)
}

// listOne prints what one version holds.
func listOne(ctx context.Context, out *report.Report, src provider.Source, judging trust.Policy, a provider.Address, v provider.Version) error {
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return err
	}
	verdict, err := judging.Verify(ctx, release)
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if err != nil && !isRefused {
		return err
	}
	var referrers []provider.Document
	if about := provider.CapabilitiesOf(src).Documents; about != nil {
		if referrers, err = about(ctx, release); err != nil {
			return err
		}
	}
	approvals, err := approvalsAmong(ctx, referrers)
	if err != nil {
		return err
	}
	return out.ListRelease(release, referrers, approvals, verdict, refused)
}

// maxApproval is the maximum size of an approval, in bytes.
const maxApproval = 64 << 10

// approvalsAmong reads the approvals in the documents that refer to a release.
func approvalsAmong(ctx context.Context, referrers []provider.Document) ([]artifact.Approval, error) {
	var approvals []artifact.Approval
	for _, d := range referrers {
		if d.MediaType != artifact.TypeApproval || d.Size > maxApproval {
			continue
		}
		data, err := d.Read(ctx)
		if err != nil {
			return nil, err
		}
		if a, err := artifact.ParseApproval(data); err == nil { // anything else is still listed as a document
			approvals = append(approvals, a)
		}
	}
	return approvals, nil
}

// listed returns the versions that meet a constraint, and without one all of them,
// pre-releases too.
func listed(ctx context.Context, src provider.Source, r provider.Requirement) ([]provider.Version, error) {
	if r.Constraint.IsZero() {
		return src.Versions(ctx, r.Address)
	}
	return source.Resolve(ctx, src, r, 0)
}
