package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "verify the releases in a repository: completeness, checksums, and signatures",
		ArgsUsage: "[PROVIDER...] [FLAG...]",
		Description: `Without PROVIDER, --from is required, and all versions in its repositories are verified.
The exit code is 4 if a finding is an error.

Details: ` + docs + `trust.md#verify

Examples:
   # the newest version
   tofu-oci verify hashicorp/aws --from ghcr.io/acme/providers/{namespace}/{type}

   # all versions of a module
   tofu-oci verify oci://ghcr.io/acme/modules/vpc --all

   # a complete mirror, with a record of the checked releases
   tofu-oci verify --from ghcr.io/acme/providers/{namespace}/{type} \
      --providers providers.txt --output json > audit.json

   # a weekly job that also reads all blobs, for code scanning
   tofu-oci verify hashicorp/aws hashicorp/null --all --deep --output sarif \
      --from ghcr.io/acme/providers/{namespace}/{type} > findings.sarif`,
		Flags: slices.Concat([]cli.Flag{
			fromFlag("`REPO`: repositories (default: first oci_mirror)"),
			sourcesFlag(),
			providersFlag(),
		}, versionFlags("matching versions"), []cli.Flag{
			aliasFlag(),
			&cli.BoolFlag{Name: "deep", Category: commandline.GroupOperation, Usage: "read all blobs"},
			&cli.BoolFlag{Name: "against-origin", Category: commandline.GroupOperation, Usage: "compare with the origin registry"},
			launchFlag(),
		}, trustFlags(), networkFlags(), []cli.Flag{
			outputFlag("`FORMAT`: text, json, or sarif"),
			quietFlag(),
		}),
		Action: withReport(verifyAction),
	}
}

func verifyAction(cmd *command) error {
	o := verify.ManyOptions{Options: verify.Options{Deep: cmd.c.Bool("deep")}, AllowNone: !hasProviders(cmd.c)}
	versions := 1
	if !hasProviders(cmd.c) {
		versions = 0
	}
	var err error
	if o.Latest, err = latest(cmd.c, versions); err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	wanted, unknown, err := cmd.providersToVerify()
	if err != nil {
		return err
	}
	if len(wanted) > 0 && wanted[0].Address.IsModule() && (cmd.c.Bool("against-origin") || cmd.c.Bool("launch")) {
		return usagef("--against-origin and --launch do not support modules")
	}
	o.Verify, o.Aliases, o.Open = cmd.policy.Verify, cmd.aliases, cmd.openFrom
	if cmd.c.Bool("against-origin") {
		o.Origin = source.NewMemo(cmd.origin(), 0)
	}
	if cmd.c.Bool("launch") {
		o.Launch = cmd.launcher(oci.New(cmd.openSource, cmd.aliases...))
	}
	o.Started = func(a provider.Address) (done func()) { return cmd.out.Step("verifying %s", a) }
	o.Done = func(r verify.Report) { cmd.out.VerifiedProvider(r, cmd.withRemedy) }
	return cmd.out.Verified(verify.Many(cmd.c.Context, wanted, o), unknown)
}

// providersToVerify returns the specified PROVIDERs. If no PROVIDERs are specified, it
// returns all providers in the repositories of --from, and the repositories whose
// provider is unknown.
func (cmd *command) providersToVerify() (wanted []provider.Requirement, unknown []string, err error) {
	if hasProviders(cmd.c) {
		wanted, err = requiredProviders(cmd)
		return wanted, nil, err
	}
	if !cmd.c.IsSet("from") {
		return nil, nil, usagef("specify at least one PROVIDER, such as hashicorp/null, or verify all providers with --from REPO; see tofu-oci verify --help")
	}
	l, err := cmd.catalogListing()
	if err != nil {
		return nil, nil, err
	}
	if unknown = cmd.out.Unknown(l); len(l.Entries) == 0 {
		return nil, nil, fmt.Errorf("%w in the repositories of %s", provider.ErrProviderNotFound, cmd.c.String("from"))
	}
	return l.Requirements(), unknown, nil
}

func launchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "launch", Category: commandline.GroupOperation, Usage: "start the provider for the current platform"}
}

// launcher returns a function that starts a source's package. If the package does not
// work, the function returns a description of the problem. It does not start denied
// packages.
func (cmd *command) launcher(src provider.Source) func(context.Context, provider.Package) (string, error) {
	return func(ctx context.Context, p provider.Package) (string, error) {
		if list := provider.CapabilitiesOf(src).Denied; list != nil {
			denied, err := list(ctx, p.Address)
			if err != nil {
				return "", err
			}
			if slices.Contains(denied, p.Version) {
				cmd.out.Warn("%s %s is denied, so it was not started", p.Address, p.Version)
				return "", nil
			}
		}
		err := cmd.launchPackage(ctx, src, p)
		if broken, ok := errors.AsType[*launch.Error](err); ok {
			return broken.Error(), nil
		}
		return "", err
	}
}

// launchPackage starts a package and prints a summary of its schema.
func (cmd *command) launchPackage(ctx context.Context, src provider.Source, p provider.Package) error {
	cmd.out.Debug.Log("program", "package", p.Filename)
	report, err := launch.Package(ctx, src, p, launch.Options{})
	if err == nil {
		cmd.out.Note("launched %s %s for %s: %s", p.Address, p.Version, p.Platform, report)
	}
	return err
}
