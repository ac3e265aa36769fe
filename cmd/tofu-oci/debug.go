package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
)

func debugFlag() cli.Flag {
	return &cli.BoolFlag{Name: "debug", Category: commandline.GroupOutput, Usage: "log requests, credentials used, and programs"}
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
