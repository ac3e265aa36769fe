package main

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func launchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "launch", Usage: "start the package for this machine's platform as OpenTofu does, and ask for its schema; this runs its code"}
}

// launching starts packages of a source, and says what is wrong with them.
func launching(out *report.Report, src provider.Source) func(context.Context, provider.Package) (string, error) {
	return func(ctx context.Context, p provider.Package) (string, error) {
		if list := provider.CapabilitiesOf(src).Denied; list != nil {
			denied, err := list(ctx, p.Address)
			if err != nil {
				return "", err
			}
			if slices.Contains(denied, p.Version) {
				out.Warn("%s %s is denied, and not started", p.Address, p.Version)
				return "", nil
			}
		}
		err := launchPackage(ctx, out, src, p)
		if broken, ok := errors.AsType[*launch.Error](err); ok {
			return broken.Error(), nil
		}
		return "", err
	}
}

// launchPackage starts a package, and notes what it told of itself.
func launchPackage(ctx context.Context, out *report.Report, src provider.Source, p provider.Package) error {
	out.Debug.Log("program", "package", p.Filename)
	report, err := launch.Package(ctx, src, p, launch.Options{})
	if err == nil {
		out.Note("launched %s %s for %s: %s", p.Address, p.Version, p.Platform, report)
	}
	return err
}

// launch starts the packages for this machine's platform. All problems are told, and
// so is where there is nothing to start.
func (p *publishing) launch(ctx context.Context, wanted []provider.Requirement) error {
	here := provider.CurrentPlatform()
	var problems []error
	for _, r := range wanted {
		v, _ := r.Constraint.Exact()
		release, err := p.src.Release(ctx, p.address, v, p.options.Platforms...)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(release.Packages, func(pkg provider.Package) bool { return pkg.Platform == here })
		if i < 0 {
			p.out.Warn("%s %s: nothing was launched, as there is no package for %s", p.address, v, here)
			continue
		}
		err = launchPackage(ctx, p.out, p.src, release.Packages[i])
		if ctx.Err() != nil {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
