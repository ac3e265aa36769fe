package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

// Package unpacks a package to a temporary directory and starts its executable in the
// same way as OpenTofu. If the package is for a different platform, Package returns a
// *[provider.PlatformError]. Otherwise, it returns errors from [Start], from the
// source, and from reading the archive.
func Package(ctx context.Context, src provider.Source, p provider.Package, o Options) (report Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("launching %s %s for %s: %w", p.Address, p.Version, p.Platform, err)
		}
	}()
	if here := provider.CurrentPlatform(); p.Platform != here {
		return Report{}, &provider.PlatformError{Address: p.Address, Version: p.Version, Wanted: here, Have: []provider.Platform{p.Platform}}
	}
	dir, err := atomicfile.NewScratchDir(o.TempDir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	sink, err := pull.NewSink(pull.LayoutUnpacked, dir, nil)
	if err != nil {
		return Report{}, err
	}
	var listing packagezip.Listing
	unpacked, _, err := sink.Put(ctx, p, func(ctx context.Context) (io.ReadCloser, error) {
		zip, _, err := src.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		listing = packagezip.Listing{}
		return listedBody{zip, &listing}, nil
	})
	if err != nil {
		return Report{}, err
	}
	// The sink makes executables without a mode executable, but OpenTofu doesn't.
	contents, _ := listing.Contents()
	if problem := contents.ModeProblem(p.Address.Type, p.Platform); problem != "" {
		return Report{}, &Error{Fault: NotStarted, Problem: problem}
	}
	name, err := executable(unpacked, p.Address.Type)
	if err != nil {
		return Report{}, err
	}
	return Start(ctx, filepath.Join(unpacked, name), o)
}

// listedBody is a zip whose central directory is recorded.
type listedBody struct {
	io.ReadCloser
	listing *packagezip.Listing
}

func (b listedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.listing.Write(p[:n])
	return n, err
}

// Many processes each release that the requirements specify exactly. If the release has
// a package for this machine's platform, Many calls launch with the package. Otherwise,
// it calls the function none with the release. If a release can't be read or ctx is
// canceled, Many stops and returns the last error. Otherwise, it joins the errors from
// launch.
func Many(ctx context.Context, src provider.Source, wanted []provider.Requirement, only []provider.Platform, launch func(context.Context, provider.Package) error, none func(provider.Release)) error {
	here := provider.CurrentPlatform()
	var problems []error
	for _, r := range wanted {
		v, _ := r.Constraint.Exact()
		release, err := src.Release(ctx, r.Address, v, only...)
		if err != nil {
			return err
		}
		p, err := release.Package(here)
		if err != nil {
			none(release)
			continue
		}
		err = launch(ctx, p)
		if ctx.Err() != nil {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// Allowed returns a function that starts a source's package with start, or calls
// onDenied if the version is denied. If the package does not work, the function returns
// a description of the problem instead of an error.
func Allowed(src provider.Source, start func(context.Context, provider.Package) error, onDenied func(provider.Package)) func(context.Context, provider.Package) (string, error) {
	return func(ctx context.Context, p provider.Package) (string, error) {
		if list := provider.CapabilitiesOf(src).Denied; list != nil {
			denied, err := list(ctx, p.Address)
			if err != nil {
				return "", err
			}
			if slices.Contains(denied, p.Version) {
				onDenied(p)
				return "", nil
			}
		}
		err := start(ctx, p)
		if broken, ok := errors.AsType[*Error](err); ok {
			return broken.Error(), nil
		}
		return "", err
	}
}

// executable returns the name of the file in a package's directory that OpenTofu
// starts.
func executable(dir, typ string) (string, error) {
	name, err := packagezip.ExecutableIn(dir, typ)
	if err == nil && name == "" {
		err = &Error{Fault: NotStarted, Problem: "the package has no file that OpenTofu would start: no file name begins with terraform-provider-" + typ}
	}
	return name, err
}
