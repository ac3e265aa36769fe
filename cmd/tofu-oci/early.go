package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/urfave/cli/v2"
)

// tellEarly puts an error into the JSON object that was asked for, where the command
// line was refused before a command began, which prints its own.
func tellEarly(app *cli.App, args []string, stdout io.Writer, err error) error {
	if err == nil || !asksJSON(app, args) {
		return err
	}
	out, problem := report.New(report.Options{Stdout: stdout, Format: report.JSON, Quiet: true})
	if problem == nil {
		problem = out.PrintError(err)
	}
	return errors.Join(err, problem)
}

// asksJSON tells whether a command line asks for JSON, however wrong the rest of it is:
// the last --output counts, or else its variable.
func asksJSON(app *cli.App, args []string) bool {
	format, command := "", (*cli.Command)(nil)
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		switch {
		case !isFlag(args[i]) && command == nil:
			command = app.Command(args[i])
		case !isFlag(args[i]) || name != "output":
		case hasValue:
			format = value
		case i+1 < len(args):
			format = args[i+1]
		}
	}
	if command == nil {
		return format == report.JSON
	}
	flags := flagsNamed([]*cli.Command{command}, "output")
	return len(flags) > 0 && (format == report.JSON || format == "" && os.Getenv(variableOf(command, flags[0])) == report.JSON)
}
