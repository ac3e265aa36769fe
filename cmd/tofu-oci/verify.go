package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func verifyCommand() *cli.Command {
	return newCommand("verify", verifyAction, []cli.Flag{
		fromFlag("read `REPO` (default: the first oci_mirror)"),
		sourcesFlag(),
	}, versionFlags("matching versions"), []cli.Flag{
		aliasFlag(),
		checkLevelFlag("verify at `LEVEL`: blobs, or deep to read all blobs"),
		againstOriginFlag("compare with the origin registry"),
		launchFlag(),
	}, trustFlags(), networkFlags(), []cli.Flag{
		outputFlag("print `FORMAT`: text, json, markdown, or sarif"),
		quietFlag(),
	})
}

func verifyAction(cmd *command) error {
	o := verify.ManyOptions{AllowNone: !hasProviders(cmd.c)}
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
	o.Deep = cmd.publishing.Check == repository.DepthContent
	o.Verify, o.Aliases, o.Open = cmd.policy.Verify, cmd.aliases, cmd.openFrom
	if cmd.c.Bool("against-origin") {
		o.Origin = source.NewMemo(cmd.origin(), 0)
	}
	if cmd.c.Bool("launch") {
		src := oci.New(cmd.openSource, cmd.aliases...)
		o.Launch = launch.Allowed(src, cmd.launcher(src), func(p provider.Package) {
			cmd.out.Warn("%s %s is denied, so it was not started", p.Address, p.Version)
		})
	}
	if t := moduleFlag(cmd.c); t != (template.ModuleTemplate{}) {
		o.Missing = cmd.missingModules(t)
	}
	o.Started = func(a provider.Address) (done func()) { return cmd.out.Step("verifying %s", a) }
	o.Done = func(r verify.Report) { cmd.out.VerifiedProvider(r, cmd.withRemedy) }
	return cmd.out.Verified(verify.Many(cmd.c.Context, wanted, o), unknown, cmd.policy.Rules)
}

// missingModules returns a function that describes a mirrored module's calls to modules
// that aren't in a template's repositories.
func (cmd *command) missingModules(t template.ModuleTemplate) func(context.Context, repository.Inspection, provider.Version) ([]string, error) {
	return func(ctx context.Context, stored repository.Inspection, v provider.Version) (missing []string, err error) {
		a, err := module.ParseAddress(stored.Index.Annotations[artifact.AnnotationModule])
		if err != nil {
			return nil, nil // the module was pushed instead of mirrored, so its address is unknown
		}
		o := cmd.dependencyOptions(t)
		o.OnError = func(_ string, err error) { missing = append(missing, err.Error()) }
		of := []module.Requirement{{Address: a, Constraint: provider.ExactConstraint(v)}}
		found, err := module.FindVersionDependencies(ctx, nil, of, o)
		if err != nil {
			return nil, err
		}
		defer found.Close()
		for _, call := range found.Missing {
			missing = append(missing, call.String())
		}
		return missing, nil
	}
}

// providersToVerify returns the specified PROVIDERs. If no PROVIDERs are specified, it
// returns all providers in the --from repositories and the repositories whose provider
// is unknown.
func (cmd *command) providersToVerify() (wanted []provider.Requirement, unknown []string, err error) {
	if hasProviders(cmd.c) {
		if wanted, err = requiredProviders(cmd); err == nil {
			wanted, err = cmd.expandModules(wanted)
		}
		return wanted, nil, err
	}
	if !cmd.c.IsSet("from") {
		return nil, nil, usagef("specify at least one PROVIDER, such as hashicorp/null, or verify all providers with --from REPO; see tofu-oci verify --help")
	}
	if t := moduleFlag(cmd.c); t != (template.ModuleTemplate{}) {
		wanted, err = cmd.modulesIn(t)
		return wanted, nil, err
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

func againstOriginFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "against-origin", Category: commandline.GroupOperation, Usage: usage}
}

func launchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "launch", Category: commandline.GroupOperation, Usage: "start the provider for the current platform"}
}

// launcher returns a function that starts the provider in a package and prints a summary
// of its schema.
func (cmd *command) launcher(src provider.Source) func(context.Context, provider.Package) error {
	return func(ctx context.Context, p provider.Package) error {
		cmd.out.Debug.Log("program", "package", p.Filename)
		report, err := launch.Package(ctx, src, p, launch.Options{})
		if err == nil {
			cmd.out.Note("launched %s %s for %s: %s", p.Address, p.Version, p.Platform, report)
		}
		return err
	}
}
