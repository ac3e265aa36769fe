package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/ctxio"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Filesystem is the source of releases in a directory that OpenTofu reads as a
// filesystem_mirror. Packages may be packed, HOST/NAMESPACE/TYPE/*.zip, and
// unpacked, HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/. Nothing there states what is
// right, so a package's digest or h1 is that of what Release finds, and what is
// read afterwards has to be the same.
//
// An unpacked package has no zip: its Digest is empty, its Size -1, its H1 that
// of the directory. Open refuses it with *[UnpackedError]; its capability Directory gives it.
// Of a package that is there in both forms the zip counts.
type Filesystem struct {
	dir      string
	found    memo[provider.Address, map[provider.Version]filesystemRelease]
	measured memo[string, measure]
	hashed   memo[string, string]
}

var _ provider.Capable = (*Filesystem)(nil)

// filesystemPackage is the locator of a package: the path of its zip or of its
// directory.
type filesystemPackage struct {
	path     string
	unpacked bool
}

// NewFilesystem makes a source of a directory. It is looked at when it is asked
// for providers; that it is not there is an error then.
func NewFilesystem(dir string) *Filesystem { return &Filesystem{dir: dir} }

// UnpackedError says that a package is there unpacked only, where its zip is
// wanted.
type UnpackedError struct {
	Package provider.Package
	// Path is the directory that the package is.
	Path string
}

func (e *UnpackedError) Error() string {
	return fmt.Sprintf("%s %s for %s is unpacked in %s: there is no zip of it", e.Package.Address, e.Package.Version, e.Package.Platform, e.Path)
}

// Versions lists the versions that have a package for any platform.
func (s *Filesystem) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
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
func (s *Filesystem) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	releases, err := s.releases(ctx, a)
	if err != nil {
		return provider.Release{}, err
	}
	found, ok := releases[v]
	if !ok {
		versions, _ := s.Versions(ctx, a)
		return provider.Release{}, fmt.Errorf("%w: %s %s in %s; %s", provider.ErrVersionNotFound, a, v, s.dir, provider.SomeVersions(versions))
	}
	platforms, err := choosePlatforms(a, v, found.platforms(), only)
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
			return provider.Release{}, fmt.Errorf("reading %s %s for %s: %w", a, v, platform, err)
		}
		r.Packages = append(r.Packages, p)
	}
	return r, nil
}

// Open opens the zip. Errors: *[UnpackedError].
func (s *Filesystem) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(filesystemPackage)
	switch {
	case !ok:
		return nil, 0, notOurs(p)
	case at.unpacked:
		return nil, 0, &UnpackedError{Package: p, Path: at.path}
	}
	f, size, err := openZipFile(ctx, at.path)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	if size != p.Size {
		_ = f.Close()
		return nil, 0, &sums.SizeError{Name: p.Filename, Got: size, Want: p.Size}
	}
	return sums.NewReadCloser(ctxio.ReadCloser(ctx, f), p.Filename, p.Size, p.Digest), p.Size, nil
}

// Capabilities tell which packages are directories.
func (s *Filesystem) Capabilities() provider.Capabilities {
	return provider.Capabilities{Directory: s.directory}
}

// directory is the capability Directory.
func (s *Filesystem) directory(p provider.Package) (path string, ok bool) {
	at, ours := p.Locator.(filesystemPackage)
	if !ours || !at.unpacked {
		return "", false
	}
	return at.path, true
}

// measure reads a zip, once.
func (s *Filesystem) measure(ctx context.Context, path string) (digest.Digest, int64, error) {
	m, err := s.measured.get(ctx, path, func(ctx context.Context) (measure, error) {
		f, size, err := openZipFile(ctx, path)
		if err != nil {
			return measure{}, err
		}
		defer func() { _ = f.Close() }()
		d, err := digest.SHA256.FromReader(ctxio.Reader(ctx, f))
		return measure{d, size}, err
	})
	return m.digest, m.size, err
}

// hash gives the h1 of a directory, once.
func (s *Filesystem) hash(ctx context.Context, dir string) (string, error) {
	return s.hashed.get(ctx, dir, func(ctx context.Context) (string, error) {
		return hashTree(ctx, dir)
	})
}

// openZipFile opens what must be a regular file of a size that packages have.
func openZipFile(ctx context.Context, path string) (*os.File, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	// Looked at before, since opening a named pipe waits for its other end.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is no file", path)
	}
	if info.Size() > artifact.MaxZipSize {
		return nil, 0, fmt.Errorf("%s has %d bytes, more than a package may have, which is %d", path, info.Size(), int64(artifact.MaxZipSize))
	}
	f, err := os.Open(filepath.Clean(path))
	return f, info.Size(), err
}
