package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// completionName is what the completion command is called.
const completionName = "completion"

// shells write completions.
var shells = []struct {
	name  string
	write func(commandline.Program) string
}{
	{"bash", commandline.Program.Bash},
	{"zsh", commandline.Program.Zsh},
	{"fish", commandline.Program.Fish},
	{"powershell", commandline.Program.PowerShell},
}

func shellNames() []string {
	var names []string
	for _, shell := range shells {
		names = append(names, shell.name)
	}
	return names
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      completionName,
		Usage:     "print a script that completes commands, flags and their values in a shell",
		ArgsUsage: strings.Join(shellNames(), "|"),
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
	for _, shell := range shells {
		if c.Args().Len() == 1 && c.Args().First() == shell.name {
			_, err := io.WriteString(c.App.Writer, shell.write(described(c.App)))
			return err
		}
	}
	return usagef("name one shell: %s; see tofu-oci completion --help", strings.Join(shellNames(), ", "))
}
