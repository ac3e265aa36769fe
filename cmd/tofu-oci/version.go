package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/module"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// devVersion is that of a build that nobody named.
const devVersion = "dev"

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:      commandline.Version,
		Usage:     "print the version, and what this program was built of",
		ArgsUsage: "[FLAG...]",
		Description: strings.TrimSpace(`
The first line is that of tofu-oci --version, which prints the same and takes the
same flags. commit and date are those of the sources, where the build tells them;
"modified" says that they were changed after that commit.

Examples:
   tofu-oci version
   tofu-oci version --output json`),
		Flags:  []cli.Flag{outputFlag("`FORMAT` of the result on stdout: text or json")},
		Action: printing(showVersion),
	}
}

func showVersion(c *cli.Context, out *report.Report) error {
	if c.Args().Present() {
		return usagef("version takes no arguments; see tofu-oci version --help")
	}
	b := thisBuild()
	return out.Build(b)
}

// thisBuild is that of the running program.
func thisBuild() report.Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, stamps{version: version, commit: commit, date: date})
}

// stamps are what the linker was told.
type stamps struct{ version, commit, date string }

// buildOf puts together what the linker was told with what Go knows: of a checkout its
// commit, unless -buildvcs=false, and of go install MODULE@VERSION the module's version.
func buildOf(info *debug.BuildInfo, linked stamps) report.Build {
	b := report.Build{Version: linked.version, Commit: linked.commit, Date: linked.date, Go: runtime.Version(), Platform: provider.CurrentPlatform().String()}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	of := info.Main.Version
	if b.Version == devVersion && of != "" && of != "(devel)" {
		b.Version = strings.TrimPrefix(of, "v")
	}
	if b.Commit == "" {
		b.Commit = settings["vcs.revision"]
	}
	b.Modified = b.Commit == settings["vcs.revision"] && settings["vcs.modified"] == "true"
	if rev, err := module.PseudoVersionRev(of); b.Commit == "" && err == nil {
		b.Commit = rev // its first twelve characters
	}
	if b.Date == "" {
		b.Date = settings["vcs.time"]
	}
	if at, err := module.PseudoVersionTime(of); b.Date == "" && err == nil {
		b.Date = at.Format(time.RFC3339)
	}
	at, err := time.Parse(time.RFC3339, b.Date)
	if b.Date = at.UTC().Format(time.RFC3339); err != nil {
		b.Date = ""
	}
	return b
}

// buildDate is when what was built was committed, or zero.
func buildDate() time.Time {
	at, _ := time.Parse(time.RFC3339, date)
	return at
}
