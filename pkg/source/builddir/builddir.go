// Package builddir implements the source of locally built releases. Use it to publish
// them.
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

// Source provides locally built releases. A release consists of zips named
// terraform-provider-TYPE_VERSION_OS_ARCH.zip and the documents next to them. New reads
// only file names. Release reads the files.
type Source struct {
	// OnNote, if not nil, is called with remarks about releases that Release returns.
	OnNote func(note string)

	address  provider.Address
	releases map[provider.Version]*dirRelease
	ignored  []string
	measured memo.Memo[string, packagezip.Measured]
}

var _ provider.Capable = (*Source)(nil)

// Ignored returns the files and directories that do not belong to any release, sorted.
func (s *Source) Ignored() []string { return slices.Clone(s.ignored) }

// Versions returns the versions of the zips.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a != s.address {
		return nil, fmt.Errorf("%w: the files belong to %s, not %s", provider.ErrProviderNotFound, s.address, a)
	}
	var versions []provider.Version
	for v := range s.releases {
		versions = append(versions, v)
	}
	return provider.NewestFirst(versions), nil
}

// Release returns the packages and documents of a version. It checks each zip against
// SHA256SUMS. If the release has no SHA256SUMS, Release generates this file. Release
// doesn't compute h1 hashes.
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	found, err := s.release(ctx, a, v)
	if err != nil {
		return provider.Release{}, err
	}
	// 1. Read the zips of the requested platforms.
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
	// 2. Read the documents about all packages, and check the zips against SHA256SUMS.
	err = s.addShared(&r, found)
	return r, err
}

// addShared adds the documents about all packages, and checks the packages against SHA256SUMS.
func (s *Source) addShared(r *provider.Release, found *dirRelease) (err error) {
	if r.Documents, err = found.sharedDocuments(*r); err != nil {
		return err
	}
	if listed, has := r.Document(provider.KindSums); has {
		if err := source.VerifySums(listed, r.Packages...); err != nil {
			return fmt.Errorf("%w: %w", ErrSums, err)
		}
	}
	r.Protocols, err = found.protocols(*r, s.OnNote)
	return err
}

// ErrSums is wrapped by errors about a SHA256SUMS file that does not match the files
// next to it. The person who built the zips can correct the file.
var ErrSums = provider.Errorf(provider.Unverified, "SHA256SUMS does not match the files next to it")

// Capabilities returns functions that return the paths of zips and the documents for
// all platforms. It doesn't report that releases are complete, because other build jobs
// can create more packages for the same version.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Documents: s.documents, Path: s.path}
}

// documents returns the SBOMs and provenance for all platforms.
func (s *Source) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	found, err := s.release(ctx, r.Address, r.Version)
	if err != nil {
		return nil, err
	}
	return readDocuments(found.referrers, provider.ScopeRelease)
}

// Open opens the zip. If the file has changed, reading it returns an error.
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

// path returns the path of a package's zip, and reports whether the package belongs to
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

// describe reads one zip and the documents about it.
func (s *Source) describe(ctx context.Context, a provider.Address, v provider.Version, platform provider.Platform, f dirPackage) (provider.Package, error) {
	m, err := s.measure(ctx, f.zip)
	if err != nil {
		return provider.Package{}, err
	}
	p := provider.Package{
		Address: a, Version: v, Platform: platform, Filename: provider.Filename(a, v, platform),
		Digest: m.Digest, Size: m.Size, Locator: dirLocator(f.zip.path),
	}
	if f.zip.name != p.Filename {
		p.ListedAs = f.zip.name
	}
	p.Documents, err = readDocuments(f.documents, provider.ScopePackage)
	return p, err
}

// measure returns a zip's digest and size. It reads each zip only once.
func (s *Source) measure(ctx context.Context, f dirFile) (packagezip.Measured, error) {
	return s.measured.Get(ctx, f.path, func(ctx context.Context) (packagezip.Measured, error) {
		return packagezip.MeasureFile(ctx, f.path)
	})
}
