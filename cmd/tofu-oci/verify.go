package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

const verifyName = "verify"

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      verifyName,
		Usage:     "find what is wrong with the releases that a repository holds",
		ArgsUsage: "[PROVIDER...] [FLAG...]",
		Description: strings.TrimSpace(`
Looks at releases where they are stored: whether all of them is there, OpenTofu
would read it, checksums, names and annotations agree, and what the signature
proves, by the evidence that lies beside the zips. It changes nothing. Each
finding has a severity, a code that stays the same, and what to do about it. An
error is exit code 4; with warnings alone it is 0.

Without PROVIDER, it checks all versions of all providers that tofu-oci list finds in
the repositories of --from, unless --latest. With --output json, "checked" lists every
release that was checked.

--deep reads every blob, and finds what rotted under the right name.
--against-origin asks the origin registry too: for versions and platforms that it
does not offer any more or that are missing here, other bytes, and another key.
Missing, which is a warning, is what mirror would take with the same PROVIDER and
--latest or --all.
--launch starts the package for this machine's platform, where no error was found.

Examples:
   tofu-oci verify hashicorp/aws --from ghcr.io/acme/providers/{namespace}/{type}

   # an audit of a whole mirror, with a record of what was checked
   tofu-oci verify --from ghcr.io/acme/providers/{namespace}/{type} \
      --providers providers.txt --output json > audit.json

   # every week: all versions, for the code-scanning page of a repository
   tofu-oci verify hashicorp/aws hashicorp/null --all --deep --against-origin \
      --from ghcr.io/acme/providers/{namespace}/{type} --output sarif > findings.sarif`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: what the first oci_mirror of the CLI configuration names for it)"},
			sourcesFlag(),
			providersFlag(),
			&cli.IntFlag{Name: "latest", Usage: "the newest `N` versions that match"},
			&cli.BoolFlag{Name: "all", Usage: "all versions that match, pre-releases aside"},
			&cli.BoolFlag{Name: "deep", Usage: "read every blob, not only ask whether it is there in its size"},
			&cli.BoolFlag{Name: "against-origin", Usage: "compare with what the origin registry offers"},
			launchFlag(),
			aliasFlag(),
		}, trustFlags(), networkFlags(), []cli.Flag{
			outputFlag("`FORMAT` of the result on stdout: text, json or sarif"),
			quietFlag(),
		}),
		Action: printing(verifyAction),
	}
}

func verifyAction(c *cli.Context, out *report.Report) error {
	o := verify.Options{Deep: c.Bool("deep")}
	newest := 1
	if !namesProviders(c) {
		newest = 0 // all that list finds
	}
	var err error
	if o.Latest, err = newestOf(c, newest); err != nil {
		return err
	}
	cmd, err := begin(c, out)
	if err != nil {
		return err
	}
	wanted, unknown, err := cmd.toVerify(c, out)
	if err != nil {
		return err
	}
	o.Verify, o.Aliases = cmd.judging.Verify, cmd.aliases
	if c.Bool("against-origin") {
		o.Origin = source.NewMemo(cmd.origin(), 0)
	}
	if c.Bool("launch") {
		o.Launch = launching(out, oci.New(cmd.reader, cmd.aliases...))
	}
	var found []verify.Report
	for _, group := range byProvider(wanted) {
		report := verifyProvider(c, out, cmd, group, o)
		out.SkippedPreReleases(group[0].Address, report.Skipped)
		found = append(found, report)
	}
	return out.Verified(found, unknown)
}

// toVerify returns the given PROVIDERs or, if there are none, all providers that list finds
// in the repositories of --from, and the repositories whose provider is unknown.
func (cmd *command) toVerify(c *cli.Context, out *report.Report) (wanted []provider.Requirement, unknown []string, err error) {
	if namesProviders(c) || !c.IsSet("from") {
		wanted, err = requirements(c, out)
		return wanted, nil, err
	}
	l, err := cmd.listing()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range l.Entries {
		wanted = append(wanted, provider.Requirement{Address: e.Address})
	}
	if unknown = out.Unknown(l); len(wanted) == 0 {
		err = fmt.Errorf("%w: there is none in the repositories of %s", provider.ErrProviderNotFound, c.String("from"))
	}
	return wanted, unknown, err
}

// namesProviders reports whether PROVIDERs are given, as arguments or in a file.
func namesProviders(c *cli.Context) bool { return c.Args().Present() || c.IsSet("sources") }

// verifyProvider looks at what requirements of one provider mean, and tells what could
// not be looked at.
func verifyProvider(c *cli.Context, out *report.Report, cmd *command, wanted []provider.Requirement, o verify.Options) (report verify.Report) {
	repo, from, err := cmd.audited(wanted[0].Address)
	if err == nil {
		o.Template = from
		done := out.Step("verifying %s", wanted[0].Address)
		report, err = verify.Repository(c.Context, repo, wanted, o)
		done()
	}
	if !namesProviders(c) {
		report.Failed = slices.DeleteFunc(report.Failed, func(f verify.Failure) bool {
			_, none := errors.AsType[*provider.VersionError](f.Err)
			if none { // list also finds repositories without releases
				out.Note("nothing to verify: %v", f.Err)
			}
			return none
		})
	}
	for _, f := range report.Failed {
		where := ""
		if f.Version != (provider.Version{}) {
			where = repo.String()
		}
		err := cmd.withRemedy(f.Err)
		out.Failed(f.Wanted, f.Version, where, err)
	}
	if err != nil {
		out.Failed(wanted[0], provider.Version{}, "", err)
	}
	return report
}

// byProvider puts requirements of one provider together, at the place of the first.
func byProvider(wanted []provider.Requirement) [][]provider.Requirement {
	var groups [][]provider.Requirement
	for _, r := range wanted {
		i := slices.IndexFunc(groups, func(g []provider.Requirement) bool { return g[0].Address == r.Address })
		if i < 0 {
			groups = append(groups, []provider.Requirement{r})
			continue
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}
