package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// completionTime limits the duration of registry requests while PROVIDERs are being
// completed, so that the shell remains responsive.
const completionTime = 300 * time.Millisecond

func completionCommand() *cli.Command {
	return &cli.Command{Name: "completion", Action: completion}
}

func completion(c *cli.Context) error {
	if c.Args().First() == commandline.CompleteProviders && c.NArg() > 2 {
		completeProviders(c.Context, c.App.Writer, c.Args().Get(1), c.Args().Slice()[2:])
		return nil
	}
	program := commandline.Describe(c.App, buildDate())
	script := map[string]func() string{"bash": program.Bash, "zsh": program.Zsh, "fish": program.Fish, "powershell": program.PowerShell}[c.Args().First()]
	if script == nil || c.NArg() > 1 {
		return usagef("specify one shell: bash, zsh, fish, or powershell; see tofu-oci completion --help")
	}
	_, err := io.WriteString(c.App.Writer, script())
	return err
}

// completeProviders prints the PROVIDERs that start with a word, one per line. args are
// the command and the flags before the word. They determine the repositories. If the
// repositories can't be read in time, it prints nothing, because an error message would
// garble the command line.
func completeProviders(ctx context.Context, w io.Writer, word string, args []string) {
	app := newApp(io.Discard, io.Discard)
	ordered, _, err := commandline.Read(app, append([]string{app.Name}, args...), os.Getenv)
	if err != nil {
		return
	}
	stateOf(app).complete = func(cmd *command) {
		found, _ := cmd.completions(ctx, word)
		for _, one := range found {
			_, _ = fmt.Fprintln(w, text.OneLine(one))
		}
	}
	_ = app.RunContext(ctx, ordered)
}

// completions returns the PROVIDERs in the --from repositories that start with a word.
// Without the flag, or if it specifies a network mirror, completions uses --to.
func (cmd *command) completions(ctx context.Context, word string) ([]string, error) {
	err := cmd.connect()
	t := cmd.from
	if err == nil && t == (template.Template{}) {
		t, err = repositoryTemplate(cmd.c, "to")
	}
	if err != nil {
		return nil, err
	}
	if !t.IsLayout() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, completionTime)
		defer cancel()
	}
	return catalog.Complete(ctx, t, word, cmd.catalogOptions())
}
