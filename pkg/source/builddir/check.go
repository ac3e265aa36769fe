package builddir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// PackageError says why a package must not be published.
type PackageError struct {
	// Path is the zip.
	Path string
	// Problems are sentences without their full stops, at least one.
	Problems []string
}

func (e *PackageError) Error() string {
	return e.Path + ": " + strings.Join(e.Problems, "; ")
}

// Kind is [provider.Unverified].
func (e *PackageError) Kind() provider.ErrorKind { return provider.Unverified }

// Check looks into the zips of a version: they open and unpack safely, and hold
// an executable that OpenTofu would find, for the platform that the name says.
// What lies beside them can be read, and SHA256SUMS lists each zip as it is. All
// problems come at once, those of each zip's content as *[PackageError]; warnings are sentences that start with the zip's path.
func (s *Source) Check(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (warnings []string, err error) {
	r, err := s.release(ctx, a, v)
	if err != nil {
		return nil, err
	}
	platforms, err := provider.ChoosePlatforms(a, v, r.platforms(), only)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, platform := range platforms {
		path := r.packages[platform].zip.path
		report, err := checkZip(path, a.Type, platform)
		if named, ok := versionOf(report.Executable, a.Type); ok && named != v {
			report.Warnings = append(report.Warnings, fmt.Sprintf("%q is named after version %s, not %s", report.Executable, named, v))
		}
		for _, w := range report.Warnings {
			warnings = append(warnings, path+": "+w)
		}
		if found, ok := errors.AsType[*packagezip.CheckError](err); ok {
			err = &PackageError{Path: path, Problems: found.Problems}
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	problems = append(problems, s.checkEvidence(ctx, a, v, platforms))
	return warnings, errors.Join(problems...)
}

// versionOf returns the version in the name of an executable, as in
// terraform-provider-TYPE_v1.2.3 or terraform-provider-TYPE_v1.2.3_x5.exe.
func versionOf(executable, typ string) (provider.Version, bool) {
	name, found := strings.CutPrefix(executable, "terraform-provider-"+typ+"_v")
	if !found {
		return provider.Version{}, false
	}
	name, _, _ = strings.Cut(strings.TrimSuffix(name, ".exe"), "_")
	v, err := provider.ParseVersion(name)
	return v, err == nil
}

// checkEvidence reads what lies beside the zips, and holds them against it.
func (s *Source) checkEvidence(ctx context.Context, a provider.Address, v provider.Version, platforms []provider.Platform) error {
	found := s.releases[v]
	release := provider.Release{Address: a, Version: v}
	var problems []error
	for _, platform := range platforms {
		p, err := s.describe(ctx, a, v, platform, found.packages[platform])
		problems = append(problems, err)
		if p.Digest != "" {
			release.Packages = append(release.Packages, p)
		}
	}
	_, err := readDocuments(found.referrers, provider.ScopeRelease)
	return errors.Join(append(problems, s.addShared(&release, found), err)...)
}

func checkZip(path, typ string, p provider.Platform) (packagezip.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return packagezip.Report{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return packagezip.Report{}, err
	}
	report, err := packagezip.Check(f, info.Size(), typ, p)
	if _, found := errors.AsType[*packagezip.CheckError](err); err != nil && !found {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	return report, err
}
