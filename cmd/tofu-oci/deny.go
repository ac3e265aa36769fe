package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func denyCommand() *cli.Command {
	return newCommand("deny", denyAction, []cli.Flag{
		toFlag("write to `REPO` (default: the first oci_mirror)"),
		aliasFlag(),
		&cli.StringFlag{Name: "reason", Category: commandline.GroupOperation, Usage: "record `TEXT` as the reason, visible to all readers"},
		byFlag(),
		signKeyFlag("sign the record with the key in `FILE`"),
		&cli.BoolFlag{Name: "overwrite", Category: commandline.GroupOperation, Usage: "if the tag can't be deleted, point it to an empty index"},
		dryRunFlag("write nothing"),
	}, networkFlags(), outputFlags())
}

func byFlag() cli.Flag {
	return &cli.StringFlag{Name: "by", Category: commandline.GroupOperation, Usage: "record `NAME` as the person who decided"}
}

func denyAction(cmd *command) error {
	r, err := requiredProvider(cmd)
	if err != nil {
		return err
	}
	v, exact := r.Constraint.Exact()
	switch {
	case !exact:
		return usagef("%s: to deny a version, specify %s@VERSION", cmd.c.Args().First(), r.Address)
	case strings.TrimSpace(cmd.c.String("reason")) == "":
		return usagef("missing --reason: specify why the version must not be used")
	}
	if err := cmd.connect(); err != nil {
		return err
	}
	refs, err := cmd.targets([]provider.Requirement{r})
	if err != nil {
		return err
	}
	repo, err := cmd.openDecided(refs, r.Address)
	if err != nil {
		return err
	}
	o := approval.DenyOptions{Reason: cmd.c.String("reason"), By: cmd.c.String("by"), Aliases: cmd.aliases, Overwrite: cmd.c.Bool("overwrite"), DryRun: cmd.c.Bool("dry-run"), Signer: cmd.signer}
	result, err := approval.Deny(cmd.c.Context, repo, r.Address, v, o)
	if errors.Is(err, provider.ErrVersionNotFound) {
		err = explain.WithHint(err, "to keep out a version that the repository doesn't contain, add a deny block to your declaration; see "+docs+"controls.md")
	}
	cmd.out.Decided(approval.Decision{Requirement: r, Repository: repo.String(), Version: v, Result: result, Err: err})
	err = errors.Join(cmd.out.Finish(), cmd.c.Context.Err())
	if result.VersionTagError != nil {
		cmd.out.Warn("%s %s is denied, but tofu init can still install this version; use --overwrite, or %s", r.Address, v, cmp.Or(explain.UntagHint(result.VersionTagError), "delete its tag"))
		return cmp.Or(err, error(&explain.ExitError{Code: explain.ExitPartly}))
	}
	if err == nil && result.RecordError != nil {
		cmd.out.Warn("%s %s is denied, but its history lacks the denial; run the command again", r.Address, v)
		return &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}
