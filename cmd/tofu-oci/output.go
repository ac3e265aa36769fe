package main

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
)

// outputFlags returns the flags of commands that print results as text or JSON.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		outputFlag("print `FORMAT`: text or json"),
		quietFlag(),
	}
}

func outputFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "output", Category: commandline.GroupOutput, Aliases: []string{"o"}, Value: report.Text, Usage: usage}
}

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Category: commandline.GroupOutput, Usage: "also list unchanged releases and their packages"}
}

func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Category: commandline.GroupOutput, Aliases: []string{"q"}, Usage: "suppress progress and notes on stderr"}
}

// newCommand returns a command whose action prints a report. addHelp adds its help text.
func newCommand(name string, do func(*command) error, flags ...[]cli.Flag) *cli.Command {
	return &cli.Command{Name: name, Flags: slices.Concat(flags...), Action: withReport(do)}
}

// withReport returns an action that creates a report, runs do, and completes the
// report. With --output json, the action also prints the error if do fails.
func withReport(do func(*command) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		run := stateOf(c.App)
		if run.complete != nil {
			out, err := report.New(report.Options{Stdout: c.App.Writer, Stderr: c.App.ErrWriter, Quiet: true})
			if err == nil {
				run.complete(&command{c: c, out: out})
			}
			return err
		}
		out, err := newReport(c)
		if err != nil {
			return err
		}
		c.Context = out.Debug.Programs(c.Context)
		run.reporting = true
		err = out.Ended(commandline.WithVariables(do(&command{c: c, out: out}), run.variables))
		out.EndProgress()
		if _, reported := errors.AsType[*explain.ExitError](err); err != nil && !reported && out.Format == report.JSON {
			err = errors.Join(err, out.PrintError(err))
		}
		out.End(err, explain.ExitCode(c.Context, err))
		return err
	}
}

func newReport(c *cli.Context) (*report.Report, error) {
	o := report.Options{
		Stdout: c.App.Writer, Stderr: c.App.ErrWriter, Command: strings.TrimPrefix(c.Command.HelpName, "tofu-oci "), Version: thisBuild().Version, Format: c.String("output"), Color: c.String("color"),
		Quiet: c.Bool("quiet"), Verbose: c.Bool("verbose"), DryRun: c.Bool("dry-run"), Events: c.String("events"), DigestFile: c.String("digest-file"),
		Debug: stateOf(c.App).debug,
	}
	transfersZips := commandline.FlagNamed(c.Command, "events") != nil
	checksLockFiles := c.Command.Name == lockName && c.Bool("check")
	if transfersZips || checksLockFiles {
		o.Summary = os.Getenv("GITHUB_STEP_SUMMARY")
	}
	return report.New(o)
}

// startDebug starts the debug log and logs the build, the command, and the environment
// variables that set flags.
func startDebug(c *cli.Context) error {
	if !c.Bool("debug") {
		return nil
	}
	b := thisBuild()
	d := report.NewDebug(c.App.ErrWriter, c.String("output") == report.JSON)
	run := stateOf(c.App)
	run.debug = d
	d.Log("started", "command", strings.TrimPrefix(c.Command.HelpName, "tofu-oci "), "version", b.Version, "commit", b.Commit, "go", b.Go, "platform", b.Platform)
	for _, flag := range slices.Sorted(maps.Keys(run.variables)) {
		d.Log("variable", "name", run.variables[flag], "flag", "--"+flag)
	}
	return nil
}
