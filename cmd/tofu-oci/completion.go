package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell completion script",
		ArgsUsage: "bash|zsh|fish|powershell",
		Description: `tofu-oci's packages already include the script. After an upgrade, generate the script again.

Examples:
   # bash, with the bash-completion package
   mkdir -p ~/.local/share/bash-completion/completions
   tofu-oci completion bash > ~/.local/share/bash-completion/completions/tofu-oci

   # zsh, in a directory of $fpath
   mkdir -p ~/.zsh/completions
   tofu-oci completion zsh > ~/.zsh/completions/_tofu-oci

   # fish
   mkdir -p ~/.config/fish/completions
   tofu-oci completion fish > ~/.config/fish/completions/tofu-oci.fish

   # PowerShell, for new sessions
   tofu-oci completion powershell >> $PROFILE`,
		Action: completion,
	}
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
