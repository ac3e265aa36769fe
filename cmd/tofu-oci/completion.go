package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands, flags and their values in a shell",
		ArgsUsage: "bash|zsh|fish|powershell",
		Description: strings.TrimSpace(`
The script belongs where the shell looks for such scripts. It does not start
tofu-oci; write it again after an upgrade. Packages of tofu-oci bring it along.

Examples:
   # bash, with the package bash-completion; without it, source the file
   mkdir -p ~/.local/share/bash-completion/completions
   tofu-oci completion bash > ~/.local/share/bash-completion/completions/tofu-oci

   # zsh, in a directory of $fpath
   mkdir -p ~/.zsh/completions
   tofu-oci completion zsh > ~/.zsh/completions/_tofu-oci

   # fish
   mkdir -p ~/.config/fish/completions
   tofu-oci completion fish > ~/.config/fish/completions/tofu-oci.fish

   # PowerShell, for new sessions
   tofu-oci completion powershell >> $PROFILE`),
		Action: completion,
	}
}

func completion(c *cli.Context) error {
	program := commandline.Describe(c.App, buildDate())
	write := map[string]func() string{"bash": program.Bash, "zsh": program.Zsh, "fish": program.Fish, "powershell": program.PowerShell}[c.Args().First()]
	if write == nil || c.NArg() > 1 {
		return usagef("name one shell: bash, zsh, fish, powershell; see tofu-oci completion --help")
	}
	_, err := io.WriteString(c.App.Writer, write())
	return err
}
