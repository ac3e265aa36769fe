// Package filesystem is the source of releases in a directory that OpenTofu reads
// as a filesystem_mirror, or as one of its plugin directories. Use it to hand on
// what lies there: zips into an OCI repository, packages into another directory.
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

// Source is the source of releases in a directory that OpenTofu reads as a
// filesystem_mirror. Packages may be packed, HOST/NAMESPACE/TYPE/*.zip, and
// unpacked, HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/. Nothing there states what is
// right, so a package's digest or h1 is that of what Release finds, and what is
// read afterwards has to be the same.
//
// An unpacked package has no zip: its Digest is empty, its Size -1, its H1 that
// of the directory. Open refuses it with [ErrUnpacked]; its capability Directory gives it.
// Of a package that is there in both forms the zip counts.
type Source struct {
	dir      string
	found    memo.Memo[provider.Address, map[provider.Version]filesystemRelease]
	measured memo.Memo[string, packagezip.Measured]
	hashed   memo.Memo[string, string]
}

var _ provider.Capable = (*Source)(nil)

// filesystemPackage is the locator of a package: the path of its zip or of its
// directory.
type filesystemPackage struct {
	path     string
	unpacked bool
}

// New makes a source of a directory. It is looked at when it is asked
// for providers; that it is not there is an error then.
func New(dir string) *Source { return &Source{dir: dir} }

// ErrUnpacked says that a package exists only unpacked, but its zip is wanted.
var ErrUnpacked = provider.Errorf(provider.Misuse, "there is no zip of it")

// Versions lists the versions that have a package for any platform.
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

// Release reads every package of the wanted platforms once, for its digest or h1.
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

// Open opens the zip. Errors: [ErrUnpacked].
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(filesystemPackage)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	case at.unpacked:
		return nil, 0, fmt.Errorf("%s %s for %s is unpacked in %s: %w", p.Address, p.Version, p.Platform, at.path, ErrUnpacked)
	}
	f, size, err := packagezip.OpenFile(ctx, at.path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	if size != p.Size {
		_ = f.Close()
		return nil, 0, &sums.SizeError{Name: p.Filename, Got: size, Want: p.Size}
	}
	return sums.NewReadCloser(bounded.ReadCloser(ctx, f), p.Filename, p.Size, p.Digest), p.Size, nil
}

// Capabilities returns Directory, for packages that are directories, and Stat, which has
// nothing left to check because Release has read every package.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Directory: s.directory,
		Stat:      func(context.Context, provider.Package) (bool, error) { return true, nil },
	}
}

// directory is the capability Directory.
func (s *Source) directory(p provider.Package) (path string, ok bool) {
	at, ours := p.Locator.(filesystemPackage)
	if !ours || !at.unpacked {
		return "", false
	}
	return at.path, true
}

// hash returns the h1 of a directory, once.
func (s *Source) hash(ctx context.Context, dir string) (string, error) {
	return s.hashed.Get(ctx, dir, func(ctx context.Context) (string, error) {
		return hashTree(ctx, dir)
	})
}

// measure reads a zip, once.
func (s *Source) measure(ctx context.Context, path string) (digest.Digest, int64, error) {
	m, err := s.measured.Get(ctx, path, func(ctx context.Context) (packagezip.Measured, error) {
		return packagezip.MeasureFile(ctx, path)
	})
	return m.Digest, m.Size, err
}
