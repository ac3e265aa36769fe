package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// completionTime limits the duration of registry requests during shell completion, so
// that the shell remains responsive.
const completionTime = 300 * time.Millisecond

func completionCommand() *cli.Command {
	return &cli.Command{Name: "completion", Action: completion}
}

func completion(c *cli.Context) error {
	if c.Args().First() == commandline.CompleteProviders && c.NArg() > 2 {
		completeProviders(c.Context, c.App.Writer, c.Args().Get(1), c.Args().Slice()[2:], completionTime)
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

// completeProviders prints the PROVIDERs or MODULEs that start with a word, or their
// versions, one per line. args contains the command and the flags before the word. The
// command and the flags determine the repositories. If these can't be read in time, it
// prints nothing, because an error message would garble the command line.
func completeProviders(ctx context.Context, w io.Writer, word string, args []string, limit time.Duration) {
	app := newApp(io.Discard, io.Discard)
	ordered, _, err := commandline.Read(app, append([]string{app.Name}, args...), os.Getenv)
	if err != nil {
		return
	}
	stateOf(app).complete = func(cmd *command) {
		found, _ := cmd.completions(ctx, word, limit)
		for _, one := range found {
			_, _ = fmt.Fprintln(w, text.OneLine(one))
		}
	}
	_ = app.RunContext(ctx, ordered)
}

// completions returns the PROVIDERs or MODULEs in the command's repositories that start
// with a word. If the word contains "@", completions returns the PROVIDER or MODULE with
// each matching version. limit limits the duration of registry requests.
func (cmd *command) completions(ctx context.Context, word string, limit time.Duration) ([]string, error) {
	if err := cmd.connect(); err != nil {
		return nil, err
	}
	if name, _, hasVersion := strings.Cut(word, "@"); hasVersion {
		repo, err := cmd.completedRepository(name)
		if err != nil {
			return nil, err
		}
		ctx, cancel := withLimit(ctx, repo.Capabilities().Registry == "", limit)
		defer cancel()
		return catalog.CompleteVersions(ctx, repo, word, slices.Contains([]string{"promote", "deny"}, cmd.c.Command.Name))
	}
	if cmd.takesModules() {
		t, err := moduleTemplate(cmd.c, "from")
		if err != nil {
			return nil, err
		}
		ctx, cancel := withLimit(ctx, t.IsLayout(), limit)
		defer cancel()
		return catalog.CompleteModules(ctx, t, word, cmd.catalogOptions())
	}
	t, err := cmd.completedTemplate()
	if err != nil {
		return nil, err
	}
	ctx, cancel := withLimit(ctx, t.IsLayout(), limit)
	defer cancel()
	return catalog.Complete(ctx, t, word, cmd.catalogOptions())
}

// withLimit returns a context that expires after the limit or, for an image layout, never.
func withLimit(ctx context.Context, isLayout bool, limit time.Duration) (context.Context, context.CancelFunc) {
	if isLayout {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// takesModules reports whether the command's arguments are MODULEs instead of PROVIDERs.
func (cmd *command) takesModules() bool {
	return strings.HasPrefix(cmd.c.Command.HelpName, "module ")
}

// completedRepository opens the repository of a PROVIDER or MODULE without a version.
func (cmd *command) completedRepository(name string) (repository.Reader, error) {
	if cmd.takesModules() && !module.IsReference(name) {
		ref, _, err := cmd.findModule(name)
		if err != nil {
			return nil, err
		}
		repo, err := cmd.open(ref)
		if err != nil {
			return nil, err
		}
		return repository.ModuleReader(repo), nil
	}
	if module.IsReference(name) {
		return cmd.openSource(provider.ModuleAddress(name))
	}
	a, err := provider.ParseAddress(name)
	switch {
	case err != nil:
		return nil, err
	case cmd.from != (template.Template{}):
		return cmd.openSource(a)
	case cmd.fromURL != nil && cmd.c.String("to") == "":
		return nil, missingTemplate("from")
	}
	refs, err := cmd.targets([]provider.Requirement{{Address: a}})
	if err != nil {
		return nil, err
	}
	return cmd.open(refs[a])
}

// completedTemplate returns the template of the repositories in which PROVIDERs are
// completed: --from or, if it isn't set or specifies a network mirror, --to. Without
// these flags, it returns the template of the first oci_mirror in the CLI configuration.
func (cmd *command) completedTemplate() (template.Template, error) {
	m, found := cmd.config.FirstOCIMirror()
	switch {
	case cmd.from != (template.Template{}):
		return cmd.from, nil
	case cmd.c.String("to") != "":
		return repositoryTemplate(cmd.c, "to")
	case cmd.fromURL != nil || !found:
		return template.Template{}, missingTemplate("from")
	}
	return m.Template, nil
}
