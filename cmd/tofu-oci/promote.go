package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func promoteCommand() *cli.Command {
	return &cli.Command{
		Name:      "promote",
		Usage:     "make pending versions available to OpenTofu",
		ArgsUsage: "PROVIDER... [--to REPO] [FLAG...]",
		Description: `Verifies the signature again and moves the tag; digests don't change, and no data is
copied.

Details: ` + docs + `approval.md

Examples:
   # the newest pending version
   tofu-oci promote hashicorp/null --to ghcr.io/acme/providers/{namespace}/{type}

   # one version, with a record of the decision
   tofu-oci promote hashicorp/null@3.2.4 --to ghcr.io/acme/providers/{namespace}/{type} \
      --reason 'tested in staging, see OPS-4711' --by jane

   # a version of a module
   tofu-oci promote oci://ghcr.io/acme/modules/vpc@1.2.0

   # all pending versions of two providers
   tofu-oci promote hashicorp/null hashicorp/aws --all \
      --to ghcr.io/acme/providers/{namespace}/{type}`,
		Flags: slices.Concat([]cli.Flag{
			toFlag("`REPO`: repositories (default: first oci_mirror)"),
		}, versionFlags("matching pending versions"), []cli.Flag{
			aliasFlag(),
			&cli.StringFlag{Name: "reason", Category: commandline.GroupOperation, Usage: "`TEXT`: record the reason, visible to all readers"},
			byFlag(),
			dryRunFlag("verify the releases, but write nothing"),
			&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: withReport(promoteAction),
	}
}

func promoteAction(cmd *command) error {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	cmd.policy.History = &trust.SignerHistory{Source: oci.New(cmd.openReader(refs), cmd.aliases...)}
	err = approval.PromoteMany(cmd.c.Context, wanted, approval.ManyOptions{
		PromoteOptions: approval.PromoteOptions{
			Verify: cmd.policy.Verify, Aliases: cmd.aliases, Force: cmd.c.Bool("force"), DryRun: cmd.c.Bool("dry-run"),
			Approval: artifact.Approval{Reason: strings.TrimSpace(cmd.c.String("reason")), By: strings.TrimSpace(cmd.c.String("by"))},
		},
		Latest: cmd.latest,
		Open:   func(a provider.Address) (repository.Repository, error) { return repository.Open(refs[a], cmd.repos) },
		Done:   cmd.out.Decided,
		OnSkip: cmd.out.SkippedPreReleases,
	})
	if err != nil && cmd.c.Context.Err() == nil {
		return err
	}
	return errors.Join(cmd.out.Finish(), cmd.c.Context.Err())
}
