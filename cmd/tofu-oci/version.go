package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// devVersion is the version of builds without a version number.
const devVersion = "dev"

func versionCommand() *cli.Command {
	printBuild := func(cmd *command) error { return cmd.out.Build(thisBuild()) }
	return newCommand(commandline.Version, printBuild, []cli.Flag{outputFlag("print `FORMAT`: text or json")})
}

// thisBuild describes the build of the running program.
func thisBuild() report.Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, linkerValues{version: version, commit: commit, date: date})
}

// linkerValues contains the values that the linker sets.
type linkerValues struct{ version, commit, date string }

// buildOf describes a build. Go's build information contains the module version and,
// unless the build used -buildvcs=false, the checkout's commit. The linker's values
// take precedence.
func buildOf(info *debug.BuildInfo, linked linkerValues) report.Build {
	b := report.Build{Version: linked.version, Commit: linked.commit, Date: linked.date, Go: runtime.Version(), Platform: provider.CurrentPlatform().String()}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	moduleVersion := info.Main.Version
	if b.Version == devVersion && moduleVersion != "" && moduleVersion != "(devel)" {
		b.Version = strings.TrimPrefix(moduleVersion, "v")
	}
	b.Commit, b.Date = cmp.Or(b.Commit, settings["vcs.revision"]), cmp.Or(b.Date, settings["vcs.time"])
	b.Modified = b.Commit == settings["vcs.revision"] && settings["vcs.modified"] == "true"
	t, err := time.Parse(time.RFC3339, b.Date)
	if b.Date = t.UTC().Format(time.RFC3339); err != nil {
		b.Date = ""
	}
	return b
}

// buildDate returns the build's commit date, or zero if the date is unknown.
func buildDate() time.Time {
	t, _ := time.Parse(time.RFC3339, date)
	return t
}
