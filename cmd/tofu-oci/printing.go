package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
)

// printing returns an action that runs do with a report and then finishes the report. An
// error of the whole command is in its JSON object too.
func printing(do func(*cli.Context, *report.Report) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		out, err := newReport(c)
		if err != nil {
			return err
		}
		c.Context = out.Debug.Programs(c.Context)
		sharedBy(c.App).printing = true
		err = commandline.NameVariables(do(c, out), sharedBy(c.App).variables)
		out.EndProgress()
		if _, reported := errors.AsType[*explain.ExitError](err); err != nil && !reported && out.Format == report.JSON {
			err = errors.Join(err, out.PrintError(err))
		}
		out.End(err, explain.ExitCode(c.Context, err))
		return err
	}
}

// checksLocks reports whether the command is lock --check.
func checksLocks(c *cli.Context) bool { return c.Command.Name == "lock" && c.Bool("check") }

// movesZips reports whether the command is mirror, publish, pull or copy.
func movesZips(c *cli.Command) bool { return commandline.FlagNamed(c, eventsFlag().Names()[0]) != nil }

// eventsFlag returns the flag of all commands that move zips.
func eventsFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "events",
		Usage: "write what happens to `FILE` as it happens, one JSON object a line, in place of what the file held; /dev/stderr is possible",
	}
}

func outputFlags() []cli.Flag {
	return []cli.Flag{
		outputFlag("`FORMAT` of the result on stdout: text or json"),
		quietFlag(),
		&cli.BoolFlag{Name: "verbose", Usage: "also list unchanged releases and their packages, which a run over several releases only counts"},
	}
}

func outputFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: report.Text, Usage: usage}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "nothing on stderr but warnings and errors; the result stays on stdout"}
}

func newReport(c *cli.Context) (*report.Report, error) {
	format := c.String("output")
	if err := checkFormat(c, format); err != nil {
		return nil, err
	}
	o := report.Options{
		Stdout: c.App.Writer, Stderr: c.App.ErrWriter, Command: c.Command.Name, Version: thisBuild().Version, Format: format,
		Quiet: c.Bool("quiet"), Verbose: c.Bool("verbose"), DryRun: c.Bool("dry-run"), Events: c.String("events"), DigestFile: c.String("digest-file"),
		Debug: sharedBy(c.App).debug,
	}
	if movesZips(c.Command) || checksLocks(c) {
		o.Summary = os.Getenv("GITHUB_STEP_SUMMARY")
	}
	return report.New(o)
}

// checkFormat refuses formats that a command does not have.
func checkFormat(c *cli.Context, format string) error {
	flag := commandline.FlagNamed(c.Command, "output")
	if flag == nil {
		return nil // stdout is not ours
	}
	allowed := commandline.WordsOf(flag)
	if slices.Contains(allowed, format) {
		return nil
	}
	last := len(allowed) - 1
	return usagef("--output %s: must be %s or %s", format, strings.Join(allowed[:last], ", "), allowed[last])
}
