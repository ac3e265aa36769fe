package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func completionCommand() *cli.Command {
	return &cli.Command{Name: "completion", Action: completion}
}

func completion(c *cli.Context) error {
	program := commandline.Describe(c.App, buildDate())
	script := map[string]func() string{"bash": program.Bash, "zsh": program.Zsh, "fish": program.Fish, "powershell": program.PowerShell}[c.Args().First()]
	if script == nil || c.NArg() > 1 {
		return usagef("specify one shell: bash, zsh, fish, or powershell; see tofu-oci completion --help")
	}
	_, err := io.WriteString(c.App.Writer, script())
	return err
}
