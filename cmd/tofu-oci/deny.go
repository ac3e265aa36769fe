package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func denyCommand() *cli.Command {
	return &cli.Command{
		Name:      "deny",
		Usage:     "record that a version must not be used, and delete its tags",
		ArgsUsage: "PROVIDER@VERSION --reason TEXT [--to REPO] [FLAG...]",
		Description: `All commands then skip the version or, if it is specified exactly, fail with exit code 4.

If the registry doesn't support deleting tags, tofu init can still install the version.
In this case, deny exits with code 3 and explains how to delete the tag. To undo a denial,
mirror or publish the version again with --force.

Details: ` + docs + `approval.md

Examples:
   tofu-oci deny hashicorp/null@3.2.4 --to ghcr.io/acme/providers/{namespace}/{type} \
      --reason 'crashes on arm64, see OPS-4711' --by jane

   # a version of a module
   tofu-oci deny oci://ghcr.io/acme/modules/vpc@1.2.0 --reason 'opens port 22, see OPS-4712'`,
		Flags: slices.Concat([]cli.Flag{
			toFlag("`REPO`: repositories (default: first oci_mirror)"),
			aliasFlag(),
			&cli.StringFlag{Name: "reason", Category: commandline.GroupOperation, Usage: "`TEXT`: record the reason, visible to all readers"},
			byFlag(),
			dryRunFlag("write nothing"),
		}, networkFlags(), outputFlags()),
		Action: withReport(denyAction),
	}
}

func byFlag() cli.Flag {
	return &cli.StringFlag{Name: "by", Category: commandline.GroupOperation, Usage: "`NAME`: record who decided"}
}

func denyAction(cmd *command) error {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return err
	}
	r := wanted[0]
	v, exact := r.Constraint.Exact()
	switch {
	case len(wanted) > 1:
		return usagef("got %d arguments: want one PROVIDER@VERSION, because each denial has its own reason", len(wanted))
	case !exact:
		return usagef("%s: specify the version to deny: %s@VERSION", cmd.c.Args().First(), r.Address)
	case strings.TrimSpace(cmd.c.String("reason")) == "":
		return usagef("missing --reason: specify why the version must not be used")
	}
	if err := cmd.connect(); err != nil {
		return err
	}
	refs, err := cmd.targets(wanted)
	if err != nil {
		return err
	}
	repo, err := repository.Open(refs[r.Address], cmd.repos)
	if err != nil {
		return err
	}
	o := approval.DenyOptions{Reason: cmd.c.String("reason"), By: cmd.c.String("by"), Aliases: cmd.aliases, DryRun: cmd.c.Bool("dry-run")}
	result, err := approval.Deny(cmd.c.Context, repo, r.Address, v, o)
	cmd.out.Decided(approval.Decision{Requirement: r, Repository: repo.String(), Version: v, Result: result, Err: err})
	err = errors.Join(cmd.out.Finish(), cmd.c.Context.Err())
	if err == nil && result.Live != nil {
		cmd.out.Warn("%s %s is denied, but a plain tofu init can still install it: %s", r.Address, v, cmp.Or(explain.UntagHint(result.Live), "delete its tag"))
		return &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}
