package main

import "github.com/urfave/cli/v2"

func moduleCommand() *cli.Command {
	return &cli.Command{
		Name:      "module",
		Usage:     "push, mirror, pull, and list OpenTofu modules",
		ArgsUsage: "push | mirror | pull | list [FLAG...]",
		Description: `OpenTofu 1.10 and later installs modules from sources such as oci://ghcr.io/acme/vpc.

Details: ` + docs + `modules.md`,
		Subcommands: []*cli.Command{modulePushCommand(), moduleMirrorCommand(), modulePullCommand(), moduleListCommand()},
	}
}
