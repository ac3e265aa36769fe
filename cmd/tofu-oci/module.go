package main

import "github.com/urfave/cli/v2"

func moduleCommand() *cli.Command {
	return &cli.Command{
		Name:        "module",
		Usage:       "mirror modules to OCI repositories",
		ArgsUsage:   "mirror [FLAG...]",
		Description: "Details: " + docs + "modules.md",
		Subcommands: []*cli.Command{moduleMirrorCommand()},
	}
}
