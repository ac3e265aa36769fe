package main

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/launch"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func launchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "launch", Category: commandline.GroupOperation, Usage: "start the package for the current platform"}
}

// launcher returns a function that starts a source's package. If the package does not
// work, the function returns a description of the problem. It does not start denied
// packages.
func launcher(out *report.Report, src provider.Source) func(context.Context, provider.Package) (string, error) {
	return func(ctx context.Context, p provider.Package) (string, error) {
		if list := provider.CapabilitiesOf(src).Denied; list != nil {
			denied, err := list(ctx, p.Address)
			if err != nil {
				return "", err
			}
			if slices.Contains(denied, p.Version) {
				out.Warn("%s %s is denied, so it was not started", p.Address, p.Version)
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

// launchPackage starts a package and prints a summary of its schema.
func launchPackage(ctx context.Context, out *report.Report, src provider.Source, p provider.Package) error {
	out.Debug.Log("program", "package", p.Filename)
	report, err := launch.Package(ctx, src, p, launch.Options{})
	if err == nil {
		out.Note("launched %s %s for %s: %s", p.Address, p.Version, p.Platform, report)
	}
	return err
}
