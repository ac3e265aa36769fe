package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func gateCommand() *cli.Command {
	run := newCommand("run", gateRun, []cli.Flag{fromFlag("read `REPO` (default: from the CLI configuration)"), aliasFlag(), gateFlag()}, trustFlags(), networkFlags(), outputFlags())
	return &cli.Command{Name: "gate", Subcommands: []*cli.Command{run}}
}

func gateRun(cmd *command) error {
	r, err := requiredProvider(cmd)
	if err != nil {
		return err
	}
	v, exact := r.Constraint.Exact()
	if !exact {
		return usagef("specify one PROVIDER@VERSION; see tofu-oci gate run --help")
	}
	if !cmd.c.IsSet("gate") {
		return usagef("missing --gate: specify a program, such as --gate ./policy.sh")
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	repo, err := cmd.openSource(r.Address)
	if err != nil {
		return err
	}
	records, err := cmd.gates.Try(cmd.c.Context, repo, r.Address, v, cmd.policy.Verify)
	if err != nil {
		return err
	}
	err = cmd.out.ListHistory(records)
	if err == nil && slices.ContainsFunc(records, func(d repository.DecisionRecord) bool { return d.Verdict != artifact.VerdictAllow }) {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return err
}
