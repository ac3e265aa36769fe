package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func gateCommand() *cli.Command {
	run := newCommand("run", gateRun, []cli.Flag{fromFlag("`REPO`: repositories (default: CLI configuration)"), aliasFlag(), gateFlag()}, trustFlags(), networkFlags(), outputFlags())
	return &cli.Command{Name: "gate", Subcommands: []*cli.Command{run}}
}

func gateRun(cmd *command) error {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return err
	}
	v, exact := wanted[0].Constraint.Exact()
	if !exact || len(wanted) > 1 || !cmd.c.IsSet("gate") {
		return usagef("specify one PROVIDER@VERSION, and --gate; see tofu-oci gate run --help")
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	repo, err := cmd.openSource(wanted[0].Address)
	if err != nil {
		return err
	}
	records, err := cmd.gates.Try(cmd.c.Context, repo, wanted[0].Address, v, cmd.policy.Verify)
	if err != nil {
		return err
	}
	err = cmd.out.ListHistory(records)
	if err == nil && slices.ContainsFunc(records, func(r repository.DecisionRecord) bool { return r.Verdict != artifact.VerdictAllow }) {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return err
}
