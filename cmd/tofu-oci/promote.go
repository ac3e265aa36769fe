package main

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func promoteCommand() *cli.Command {
	return newCommand("promote", promoteAction, []cli.Flag{
		toFlag("write to `REPO` (default: the first oci_mirror)"),
	}, versionFlags("matching pending versions"), []cli.Flag{
		aliasFlag(),
		&cli.StringFlag{Name: "reason", Category: commandline.GroupOperation, Usage: "record `TEXT` as the reason, visible to all readers"},
		byFlag(),
		signKeyFlag("sign the record with the key in `FILE`"),
		dryRunFlag("verify the releases, but write nothing"),
		&cli.BoolFlag{Name: "force", Category: commandline.GroupOperation, Usage: "overwrite conflicting content; override denials"},
		gateFlag(),
		verboseFlag(),
	}, trustFlags(), networkFlags(), outputFlags())
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
	o := approval.PromoteOptions{
		Verify: cmd.policy.VerifySignature, Aliases: cmd.aliases, Gates: cmd.gates.Option(), Force: cmd.c.Bool("force"), DryRun: cmd.c.Bool("dry-run"),
		Reason: strings.TrimSpace(cmd.c.String("reason")), By: strings.TrimSpace(cmd.c.String("by")), Signer: cmd.signer,
	}
	err = approval.PromoteMany(cmd.c.Context, wanted, approval.ManyOptions{
		PromoteOptions: o,
		Latest:         cmd.latest,
		Open:           func(a provider.Address) (repository.Repository, error) { return cmd.openDecided(refs, a) },
		Done:           cmd.out.Decided,
		OnSkip:         cmd.out.SkippedPreReleases,
	})
	if err != nil && cmd.c.Context.Err() == nil {
		return err
	}
	return errors.Join(cmd.out.Finish(), cmd.c.Context.Err())
}
