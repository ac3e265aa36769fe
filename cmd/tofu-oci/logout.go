package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
)

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name:      "logout",
		Usage:     "remove the login for an OCI registry",
		ArgsUsage: "REGISTRY [FLAG...]",
		Description: strings.TrimSpace(`
Removes a login from wherever tofu-oci login or docker login may have put it: from
Docker's file, also in $DOCKER_CONFIG, and from the credential helper that it names
for the registry. The registry is not asked: a token stays valid until it expires
or is revoked there.

Logins for a part of the registry (HOST/PATH) stay unless they are named, and those
of other programs stay too; both are said. Where there is none, nothing is done, and
the exit code is 0.

Examples:
   tofu-oci logout ghcr.io
   tofu-oci logout registry.example.com/acme`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "OpenTofu CLI configuration `FILE` to read instead of those that OpenTofu reads"},
		}, outputFlags()),
		Action: printing(logoutAction),
	}
}

func logoutAction(c *cli.Context, out *report.Report) error {
	// 1. From where.
	target, err := loginTarget(c)
	if err != nil {
		return err
	}
	config, err := cliConfiguration(c, out)
	if err != nil {
		return err
	}
	keeper, err := loginKeeper(config)
	if err != nil {
		return err
	}

	// 2. What can be removed is, and said, whatever else goes wrong.
	removed, failed := keeper.Delete(c.Context, target)
	if failed != nil {
		return out.LoggedOut(target, removed, nil, nil, failed)
	}

	// 3. What stays.
	left, err := keeper.Remaining(c.Context, target)
	if err != nil {
		left = append(left, fmt.Sprintf("looking for logins that stay: %v", err))
	}
	return out.LoggedOut(target, removed, keeper.Files(), left, nil)
}
