// Package builddir is the source of releases that a build left on disk: zips, and
// the evidence about them beside them. Use it as the source of a publish.
package builddir

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Source is the source of releases that a build left on disk: zips named
// terraform-provider-TYPE_VERSION_OS_ARCH.zip, and the evidence beside them. It
// looks at names when it is made, and at contents when a release is asked for.
type Source struct {
	address  provider.Address
	releases map[provider.Version]*dirRelease
	ignored  []string
	measured memo.Memo[string, packagezip.Measured]
}

var _ provider.Capable = (*Source)(nil)

// Ignored names the files and directories that were found and do not belong to
// any release, sorted.
func (s *Source) Ignored() []string { return slices.Clone(s.ignored) }

// Versions lists the versions that zips were found of.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a != s.address {
		return nil, fmt.Errorf("%w: the files are of %s, not of %s", provider.ErrProviderNotFound, s.address, a)
	}
	var versions []provider.Version
	for v := range s.releases {
		versions = append(versions, v)
	}
	return provider.NewestFirst(versions), nil
}

// Release describes what lies there of a version. Every zip is read and held
// against SHA256SUMS; without such a file one is made. The h1 is left to who
// reads the zip to send it.
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	found, err := s.release(ctx, a, v)
	if err != nil {
		return provider.Release{}, err
	}
	// 1. The zips of the wanted platforms.
	platforms, err := provider.ChoosePlatforms(a, v, found.platforms(), only)
	if err != nil {
		return provider.Release{}, err
	}
	r := provider.Release{Address: a, Version: v}
	for _, platform := range platforms {
		p, err := s.describe(ctx, a, v, platform, found.packages[platform])
		if err != nil {
			return provider.Release{}, err
		}
		r.Packages = append(r.Packages, p)
	}
	// 2. What is about all of them, and no zip without its line.
	err = s.addShared(&r, found)
	return r, err
}

// addShared adds what is about all packages, and holds them against it.
func (s *Source) addShared(r *provider.Release, found *dirRelease) (err error) {
	if r.Protocols, err = found.protocols(); err != nil {
		return err
	}
	if r.Documents, err = found.evidence(*r); err != nil {
		return err
	}
	if listed, has := r.Document(provider.KindSums); has {
		if err := source.VerifySums(listed, r.Packages...); err != nil {
			return fmt.Errorf("%w: %w", ErrSums, err)
		}
	}
	return nil
}

// ErrSums says that the SHA256SUMS beside the zips do not fit them, which whoever built
// them can correct. Errors that wrap it say what is wrong.
var ErrSums = provider.Errorf(provider.Unverified, "SHA256SUMS does not fit the zips beside it")

// Capabilities tell that zips are files, and that documents lie beside them that
// cover all platforms. Nothing is published: other jobs of a build may have other
// packages of the same version.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Documents: s.documents, Path: s.path}
}

// documents reads the SBOMs and provenance that cover all platforms.
func (s *Source) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	found, err := s.release(ctx, r.Address, r.Version)
	if err != nil {
		return nil, err
	}
	return readDocuments(found.referrers, provider.ScopeRelease)
}

// Open opens the zip; should it change meanwhile, the reader says so.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	path, ok := s.path(p)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	f, _, err := packagezip.OpenFile(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	return sums.NewReadCloser(f, p.Filename, p.Size, p.Digest), p.Size, nil
}

// path returns the file that a package's zip is; false when the package is not of
// this source.
func (s *Source) path(p provider.Package) (string, bool) {
	path, ok := p.Locator.(dirLocator)
	return string(path), ok
}

// dirLocator is the path of a package's zip.
type dirLocator string

func (s *Source) release(ctx context.Context, a provider.Address, v provider.Version) (*dirRelease, error) {
	versions, err := s.Versions(ctx, a)
	if err != nil {
		return nil, err
	}
	r, found := s.releases[v]
	if !found {
		return nil, &provider.VersionError{Address: a, Version: v, Have: versions}
	}
	return r, nil
}

// describe reads one zip and what belongs to it alone.
func (s *Source) describe(ctx context.Context, a provider.Address, v provider.Version, platform provider.Platform, f dirPackage) (provider.Package, error) {
	m, err := s.measure(ctx, f.zip)
	if err != nil {
		return provider.Package{}, err
	}
	p := provider.Package{
		Address: a, Version: v, Platform: platform, Filename: f.zip.name,
		Digest: m.Digest, Size: m.Size, Locator: dirLocator(f.zip.path),
	}
	p.Documents, err = readDocuments(f.evidence, provider.ScopePackage)
	return p, err
}

// measure reads a zip once, for its digest and size.
func (s *Source) measure(ctx context.Context, f dirFile) (packagezip.Measured, error) {
	return s.measured.Get(ctx, f.path, func(ctx context.Context) (packagezip.Measured, error) {
		return packagezip.MeasureFile(ctx, f.path)
	})
}
