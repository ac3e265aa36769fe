package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
)

// debugFlag is that of every command.
func debugFlag() cli.Flag {
	return &cli.BoolFlag{Name: "debug", Usage: "log to stderr each request and its answer, retries, which logins are used and where they are from, and which programs are started; no secret is logged"}
}

// beginDebug writes what the run is, in front of all that it does.
func beginDebug(c *cli.Context) error {
	if !c.Bool("debug") {
		return nil
	}
	b := thisBuild()
	d := report.NewDebug(c.App.ErrWriter, c.String("output") == report.JSON)
	sharedBy(c.App).debug = d
	d.Log("started", "command", strings.TrimPrefix(c.Command.HelpName, "tofu-oci "), "version", b.Version, "commit", b.Commit, "go", b.Go, "platform", b.Platform)
	variables := sharedBy(c.App).variables
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		d.Log("variable", "name", variables[flag], "flag", "--"+flag)
	}
	return nil
}
