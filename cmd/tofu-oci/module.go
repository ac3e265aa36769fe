package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

func moduleCommand() *cli.Command {
	return &cli.Command{
		Name:      "module",
		Usage:     "push and mirror OpenTofu modules",
		ArgsUsage: "push | mirror [FLAG...]",
		Description: strings.TrimSpace(`
OpenTofu 1.10 and later installs modules from sources such as oci://ghcr.io/acme/vpc.

Details: ` + docs + `modules.md`),
		Subcommands: []*cli.Command{modulePushCommand(), moduleMirrorCommand()},
	}
}
