package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name:      "logout",
		Usage:     "delete stored credentials for an OCI registry",
		ArgsUsage: "REGISTRY [FLAG...]",
		Description: `The registry is not contacted: a token stays valid until it expires or is revoked.

Details: ` + docs + `credentials.md

Examples:
   tofu-oci logout ghcr.io
   tofu-oci logout registry.example.com/acme`,
		Flags:  slices.Concat([]cli.Flag{configFlag()}, outputFlags()),
		Action: withReport(logoutAction),
	}
}

func logoutAction(cmd *command) error {
	target, err := loginTarget(cmd.c)
	if err != nil {
		return err
	}
	config, err := cliConfiguration(cmd)
	if err != nil {
		return err
	}
	store, err := credentialStore(config)
	if err != nil {
		return err
	}
	removed, failed := store.Delete(cmd.c.Context, target)
	if failed != nil {
		return cmd.out.LoggedOut(target, removed, nil, nil, failed)
	}
	left, err := store.Remaining(cmd.c.Context, target)
	if err != nil {
		left = append(left, fmt.Sprintf("looking for remaining credentials: %v", err))
	}
	return cmd.out.LoggedOut(target, removed, store.Files(), left, nil)
}
