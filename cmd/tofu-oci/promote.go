package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func promoteCommand() *cli.Command {
	return &cli.Command{
		Name:      "promote",
		Usage:     "let OpenTofu see releases that mirror --stage has put aside",
		ArgsUsage: "PROVIDER... [--to REPO] [FLAG...]",
		Description: strings.TrimSpace(`
Lets the version's tag name what waits under pending-VERSION, and then removes the
pending tag: the digest stays, and no zip and no manifest moves. A constraint means
the newest version that waits and matches. The signature is judged again, by the
evidence that lies beside the zips, as pull does.

A version that is there already gets more platforms, if what waits holds all that
the version holds; other bytes are a conflict, exit code 4, unless --force. What is
promoted already is unchanged.

A denied version is skipped and reported. If a PROVIDER names it exactly, that is an
error, exit code 4, unless --force: then it is promoted, and the denial is removed.

Where a registry removes no tags, the pending one stays: nobody installs from it.

--reason and --by are recorded in a document that refers to the release. copy copies
it, and list PROVIDER@VERSION shows it. This also works for a version that is already
released, for example because it was never staged.

Examples:
   tofu-oci promote hashicorp/null@3.2.4 --to ghcr.io/acme/providers/{namespace}/{type}

   # with a record of the decision
   tofu-oci promote hashicorp/null@3.2.4 --to ghcr.io/acme/providers/{namespace}/{type} \
      --reason 'tested in staging, see OPS-4711' --by jane

   # all that waits, of two providers
   tofu-oci promote hashicorp/null hashicorp/aws --all \
      --to ghcr.io/acme/providers/{namespace}/{type}`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "repository template `REPO` where they wait (default: what the first oci_mirror of the CLI configuration names for it)"},
			&cli.IntFlag{Name: "latest", Usage: "the newest `N` versions that wait and match"},
			&cli.BoolFlag{Name: "all", Usage: "all versions that wait and match"},
			&cli.StringFlag{Name: "reason", Usage: "record `TEXT` as the reason; everyone who can read the repository can read it (default: none)"},
			&cli.StringFlag{Name: "by", Usage: "record `NAME` as the person who decided (default: none)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "compare and judge only, write nothing"},
			&cli.BoolFlag{Name: "force", Usage: "replace a version that holds something else, and promote a denied version that is named exactly"},
			aliasFlag(),
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: printing(promoteAction),
	}
}

func promoteAction(c *cli.Context, out *report.Report) error {
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	open := cmd.written(refs)
	cmd.judging.History = &trust.SignerHistory{Source: oci.New(open, cmd.aliases...)}
	waiting := source.NewMemo(oci.NewPending(open, cmd.aliases...), 0)
	o := approval.PromoteOptions{Verify: cmd.judging.Verify, Aliases: cmd.aliases, Force: c.Bool("force"), DryRun: c.Bool("dry-run")}
	o.Approval = artifact.Approval{Reason: strings.TrimSpace(c.String("reason")), By: strings.TrimSpace(c.String("by"))}
	for _, r := range wanted {
		repo, err := repository.Open(refs[r.Address], cmd.repos)
		if err != nil {
			return err
		}
		versions, err := source.Resolve(c.Context, waiting, r, cmd.newest)
		skipped := source.Denied(c.Context, waiting, r, cmd.newest, versions)
		if errors.Is(err, provider.ErrVersionNotFound) && len(skipped) > 0 {
			err = nil
		}
		if errors.Is(err, provider.ErrVersionNotFound) {
			err = nothingWaits(c, waiting, r, repo)
		}
		if err != nil {
			out.Failed(r, provider.Version{}, repo.String(), err)
		}
		if err := leftPending(c, out, waiting, r, cmd.newest); err != nil {
			return err
		}
		for _, v := range skipped {
			if err := out.Skipped(c.Context, repo, r.Address, v); err != nil {
				return err
			}
		}
		for _, v := range versions {
			done, err := approval.Promote(c.Context, repo, r.Address, v, o)
			if err != nil {
				out.Failed(r, v, repo.String(), err)
				continue
			}
			out.Decided(repo.String(), done)
		}
	}
	return errors.Join(out.Finish(), c.Context.Err())
}

// leftPending tells of the pre-releases that wait, and that --all does not mean.
func leftPending(c *cli.Context, out *report.Report, waiting provider.Source, r provider.Requirement, newest int) error {
	if _, exact := r.Constraint.Exact(); exact || newest > 0 {
		return nil
	}
	all, err := waiting.Versions(c.Context, r.Address)
	if err == nil {
		out.SkippedPreReleases(r.Address, r.PreReleases(all))
	}
	return c.Context.Err() // what else is wrong was told
}

// nothingWaits says that no version that meets a requirement waits, and which ones do.
func nothingWaits(c *cli.Context, waiting provider.Source, r provider.Requirement, repo repository.Repository) error {
	versions, err := waiting.Versions(c.Context, r.Address)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w in %s: %s", approval.ErrNotPending, repo, provider.SomeVersions(versions))
}
