// Package filesystem implements the source of releases in a directory that OpenTofu
// reads as a filesystem_mirror or as a plugin directory. Use it to publish the
// directory's zips to an OCI repository, or to copy its packages to another directory.
package filesystem

import (
	"context"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Source provides the releases in a directory that OpenTofu reads as a
// filesystem_mirror. Packages can be packed as HOST/NAMESPACE/TYPE/*.zip, or unpacked
// in HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/. The directory contains no checksums, so
// Release computes the digest or h1 of each package. Later reads must match the result.
//
// An unpacked package has no zip. Its Digest is empty, its Size is -1, and its H1 is
// the hash of the directory. For an unpacked package, Open returns [ErrUnpacked], and
// the capability Directory returns its path. If a package exists in both forms, the zip
// is used.
type Source struct {
	dir      string
	found    memo.Memo[provider.Address, map[provider.Version]filesystemRelease]
	measured memo.Memo[string, packagezip.Measured]
	hashed   memo.Memo[string, string]
}

var _ provider.Capable = (*Source)(nil)

// filesystemPackage locates a package by the path of its zip or its directory.
type filesystemPackage struct {
	path     string
	unpacked bool
}

// New returns a source of the releases in a directory. The directory is read when a
// provider is requested. If the directory doesn't exist, this request fails.
func New(dir string) *Source { return &Source{dir: dir} }

// ErrUnpacked is returned if the zip of an unpacked package is requested.
var ErrUnpacked = provider.Errorf(provider.Misuse, "the package has no zip")

// Versions returns the versions that have a package for any platform.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	releases, err := s.releases(ctx, a)
	if err != nil {
		return nil, err
	}
	var versions []provider.Version
	for v := range releases {
		versions = append(versions, v)
	}
	return provider.NewestFirst(versions), nil
}

// Release reads each package of the requested platforms once to compute its digest or h1.
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	releases, err := s.releases(ctx, a)
	if err != nil {
		return provider.Release{}, err
	}
	found, ok := releases[v]
	if !ok {
		versions, _ := s.Versions(ctx, a)
		return provider.Release{}, &provider.VersionError{Address: a, Version: v, Where: s.dir, Have: versions}
	}
	platforms, err := provider.ChoosePlatforms(a, v, found.platforms(), only)
	if err != nil {
		return provider.Release{}, err
	}
	r := provider.Release{Address: a, Version: v}
	for _, platform := range platforms {
		p := provider.Package{
			Address: a, Version: v, Platform: platform, Filename: provider.Filename(a, v, platform), Size: -1, Locator: found[platform],
		}
		if found[platform].unpacked {
			p.H1, err = s.hash(ctx, found[platform].path)
		} else {
			p.Digest, p.Size, err = s.measure(ctx, found[platform].path)
		}
		if err != nil {
			return provider.Release{}, &provider.Error{Op: "reading", Address: a, Version: v, Platform: platform, Err: err}
		}
		r.Packages = append(r.Packages, p)
	}
	return r, nil
}

// Open opens the zip of a package. It returns [ErrUnpacked] for an unpacked package.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	located, ok := p.Locator.(filesystemPackage)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	case located.unpacked:
		return nil, 0, fmt.Errorf("%s %s for %s is unpacked in %s: %w", p.Address, p.Version, p.Platform, located.path, ErrUnpacked)
	}
	f, size, err := packagezip.OpenFile(ctx, located.path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	if size != p.Size {
		_ = f.Close()
		return nil, 0, &sums.SizeError{Name: p.Filename, Got: size, Want: p.Size}
	}
	return sums.NewReadCloser(bounded.ReadCloser(ctx, f), p.Filename, p.Size, p.Digest), p.Size, nil
}

// Capabilities returns the functions Directory, for unpacked packages, and Stat. Stat
// checks nothing, because Release has read every package.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Directory: s.directory,
		Stat:      func(context.Context, provider.Package) (bool, error) { return true, nil },
	}
}

// directory implements the capability Directory.
func (s *Source) directory(p provider.Package) (path string, ok bool) {
	located, ours := p.Locator.(filesystemPackage)
	if !ours || !located.unpacked {
		return "", false
	}
	return located.path, true
}

// hash returns a directory's h1. It reads each directory only once.
func (s *Source) hash(ctx context.Context, dir string) (string, error) {
	return s.hashed.Get(ctx, dir, func(ctx context.Context) (string, error) {
		return hashTree(ctx, dir)
	})
}

// measure returns a zip's digest and size. It reads each zip only once.
func (s *Source) measure(ctx context.Context, path string) (digest.Digest, int64, error) {
	m, err := s.measured.Get(ctx, path, func(ctx context.Context) (packagezip.Measured, error) {
		return packagezip.MeasureFile(ctx, path)
	})
	return m.Digest, m.Size, err
}
