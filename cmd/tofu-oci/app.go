package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	ordered, variables, err := commandline.Read(app, args, os.Getenv)
	run := stateOf(app)
	run.variables = variables
	color := commandline.FlagValue(app, args, os.Getenv, "color")
	if err == nil {
		err = app.RunContext(ctx, ordered)
	}
	if !run.reporting {
		err = commandline.WithVariables(err, variables)
		if err != nil && commandline.FlagValue(app, args, os.Getenv, "output") == report.JSON {
			out, problem := report.New(report.Options{Stdout: stdout, Format: report.JSON, Quiet: true})
			if problem == nil {
				problem = out.PrintError(err)
			}
			err = errors.Join(err, problem)
		}
	}
	code := explain.ExitCode(ctx, err)
	exit, reported := errors.AsType[*explain.ExitError](err)
	switch {
	case err == nil, reported && exit.Child:
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(report.Colored(stderr, color), "tofu-oci: interrupted; to continue where it stopped, rerun the command")
	case !reported:
		_, _ = fmt.Fprint(report.Colored(stderr, color), report.Printable(explain.Text(err, explain.Hint(err))))
	}
	run.debug.Ended(code)
	return code
}

// state contains the data that all actions of a run share.
type state struct {
	// variables maps flag names to the environment variables that set the flags.
	variables map[string]string
	// debug is nil without --debug.
	debug *report.Debug
	// reporting reports whether the running action prints its own errors as JSON.
	reporting bool
	// complete replaces the command's action during shell completion. In other runs, it
	// is nil.
	complete func(*command)
}

// stateKey is the key of the [state] in an app's metadata.
const stateKey = "state"

func stateOf(app *cli.App) *state { return app.Metadata[stateKey].(*state) }

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                      "tofu-oci",
		Commands:                  commands(),
		Metadata:                  map[string]any{stateKey: &state{}},
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideVersion:               true, // --version is the version command
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Action:                    cli.ShowAppHelp,
	}
	app.Usage, _, app.Description = helpOf(app.Name)
	_, _, app.UsageText = helpOf("flags")
	addHelp("", app.Commands)
	commandline.Prepare(app, func(command *cli.Command) {
		command.Flags = append(command.Flags,
			&cli.StringFlag{Name: "color", Category: commandline.GroupOutput, Value: report.ColorAuto, Usage: "color text; `WHEN` is auto, always, or never"},
			&cli.BoolFlag{Name: "debug", Category: commandline.GroupOutput, Usage: "log requests, programs, and credential sources"},
		)
		command.Before = func(c *cli.Context) error {
			for _, warning := range commandline.UnknownVariables(app.Commands, os.Environ(), passphraseVariable) {
				_, _ = fmt.Fprintln(report.Colored(stderr, c.String("color")), report.OneLine("warning: "+warning))
			}
			return startDebug(c)
		}
	})
	return app
}

// commands returns all commands in groups, in the order of the help text.
func commands() []*cli.Command {
	var all []*cli.Command
	for _, group := range []struct {
		name     string
		commands []*cli.Command
	}{
		{"Mirror and publish", []*cli.Command{mirrorCommand(), copyCommand(), publishCommand(), moduleCommand(), syncCommand()}},
		{"Install", []*cli.Command{pullCommand(), lockCommand(), execCommand()}},
		{"Review and audit", []*cli.Command{listCommand(), verifyCommand(), promoteCommand(), denyCommand(), gateCommand(), trustCommand()}},
		{"Air gap", []*cli.Command{bundleCommand()}},
		{"Serve", []*cli.Command{serveCommand()}},
		{"Set up", []*cli.Command{tofurcCommand(), doctorCommand(), loginCommand(), logoutCommand(), cacheCommand(), completionCommand(), manCommand(), versionCommand()}},
	} {
		for _, c := range group.commands {
			c.Category = group.name
			all = append(all, c)
		}
	}
	return all
}

// usagef returns an error about the command line or the configuration.
func usagef(format string, args ...any) error {
	return provider.Errorf(provider.Misuse, format, args...)
}
