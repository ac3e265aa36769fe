package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := newApp(stdout, stderr)
	ordered, variables, err := commandline.Read(app, args, os.Getenv)
	run := sharedBy(app)
	run.variables = variables
	if err == nil {
		err = app.RunContext(ctx, ordered)
	}
	if !run.printing {
		err = commandline.NameVariables(err, variables)
		if err != nil && commandline.AsksJSON(app, args, os.Getenv) { // which no command has printed
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
		_, _ = fmt.Fprintln(stderr, "tofu-oci: interrupted; nothing half-written was left, run the same command again to go on")
	case !reported:
		_, _ = fmt.Fprint(stderr, report.Printable(explain.Text(err, explain.Hint(err))))
	}
	run.debug.Ended(code)
	return code
}

// shared is what the parts of a run have in common, beside what the library hands on.
type shared struct {
	// variables are the variables that set flags, by the names of those.
	variables map[string]string
	// debug is nil without --debug.
	debug *report.Debug
	// printing reports that an action prints, which also prints its errors as JSON.
	printing bool
}

// sharedKey is where an app keeps it.
const sharedKey = "shared"

func sharedBy(app *cli.App) *shared { return app.Metadata[sharedKey].(*shared) }

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:  "tofu-oci",
		Usage: "bring OpenTofu providers into OCI registries, and out again, verified",
		Description: strings.TrimSpace(`
A PROVIDER is [HOST/]NAMESPACE/TYPE[@CONSTRAINT], as in hashicorp/aws,
hashicorp/aws@5.64.0 or 'hashicorp/aws@~> 5.0, != 5.10.0'. The default host is
registry.opentofu.org. It means the newest release that meets the constraint.
Pre-releases count only where they are named exactly: hashicorp/aws@6.0.0-beta1.

A REPO is a repository template that makes an OCI repository's name of an
address: ghcr.io/acme/providers/{namespace}/{type}, the same with ${namespace}
as OpenTofu writes it, or oci-layout:DIR/{namespace}/{type} for an OCI image
layout on disk. It may use {hostname}, {namespace} and {type}.

Flags stand anywhere: before the command, after it, or after its arguments. A flag
takes one value and can be given once, unless its help says "(repeatable)". Where
the command line has not got a flag, the variable counts that the flag's help names,
such as TOFU_OCI_FROM for --from, unless it is empty. A switch is true or false
there; several values stand one a line, or in one line between commas.

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 some items failed and
some were done, 4 verification failed or conflict, 5 not found,
6 not authorized, 130 interrupted.`),
		Commands:                  []*cli.Command{mirrorCommand(), publishCommand(), pullCommand(), copyCommand(), listCommand(), promoteCommand(), denyCommand(), lockCommand(), execCommand(), verifyCommand(), serveCommand(), trustCommand(), tofurcCommand(), doctorCommand(), loginCommand(), logoutCommand(), cacheCommand(), completionCommand(), manCommand(), versionCommand()},
		Metadata:                  map[string]any{sharedKey: &shared{}},
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideVersion:               true, // --version is the version command
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Action:                    cli.ShowAppHelp,
	}
	commandline.Prepare(app, func(command *cli.Command) {
		command.Flags = append(command.Flags, debugFlag())
		command.Before = func(c *cli.Context) error {
			for _, warning := range commandline.UnknownVariables(app.Commands, os.Environ(), passphraseVariable) {
				_, _ = fmt.Fprintln(stderr, report.Printable(report.OneLine("warning: "+warning)))
			}
			return beginDebug(c)
		}
	})
	return app
}

// usagef returns an error about the command line or the configuration.
func usagef(format string, args ...any) error {
	return provider.Errorf(provider.Misuse, format, args...)
}
