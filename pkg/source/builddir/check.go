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

// PackageError lists the reasons a package must not be published.
type PackageError struct {
	// Path is the path of the zip.
	Path string
	// Problems contains at least one sentence, without final periods.
	Problems []string
}

func (e *PackageError) Error() string {
	return e.Path + ": " + strings.Join(e.Problems, "; ")
}

// Kind returns [provider.Unverified].
func (e *PackageError) Kind() provider.ErrorKind { return provider.Unverified }

// Check checks the packages of a version. Each zip must open, unpack safely, and
// contain an executable for its platform under a name that OpenTofu recognizes. The
// documents must be readable, and SHA256SUMS must list each zip with its checksum.
// Check returns all problems at once. Problems with a zip's content are returned as a
// *[PackageError]. Warnings are sentences that start with the path of the zip.
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
			report.Warnings = append(report.Warnings, fmt.Sprintf("%q has version %s in its name, not %s", report.Executable, named, v))
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
	problems = append(problems, s.checkDocuments(ctx, a, v, platforms))
	return warnings, errors.Join(problems...)
}

// CheckAll checks the releases that requirements specify exactly. See [Source.Check].
// It calls started before it checks a release, and calls the returned function after
// the check.
func (s *Source) CheckAll(ctx context.Context, wanted []provider.Requirement, started func(provider.Requirement) (done func()), only ...provider.Platform) (warnings []string, err error) {
	var problems []error
	for _, r := range wanted {
		v, _ := r.Constraint.Exact()
		done := started(r)
		found, err := s.Check(ctx, r.Address, v, only...)
		done()
		warnings, problems = append(warnings, found...), append(problems, err)
	}
	return warnings, errors.Join(problems...)
}

// Requirements returns a requirement for each version of a provider, including pre-releases.
func (s *Source) Requirements(ctx context.Context, a provider.Address) ([]provider.Requirement, error) {
	versions, err := s.Versions(ctx, a)
	if err != nil {
		return nil, err
	}
	var wanted []provider.Requirement
	for _, v := range versions {
		r, err := provider.ParseRequirement(a.String() + "@" + v.String())
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, r)
	}
	return wanted, nil
}

// versionOf returns the version in the name of an executable, such as
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

// checkDocuments reads the documents next to the zips, and checks the zips against
// these documents.
func (s *Source) checkDocuments(ctx context.Context, a provider.Address, v provider.Version, platforms []provider.Platform) error {
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
