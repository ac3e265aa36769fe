package repository

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// InspectedPackage describes the stored package for a platform.
type InspectedPackage struct {
	Target artifact.Target
	// Manifest is the zero value if the manifest could not be read.
	Manifest artifact.Manifest
	// Bytes is the content of the manifest.
	Bytes []byte
	// Err is the reason the manifest could not be read. It is [ErrNotFound], a
	// *[sums.MismatchError], a *[sums.SizeError] if the index contains a different size,
	// or an *[artifact.FormatError].
	Err error
	// Missing lists the blobs in the manifest that are missing, have the wrong size, or,
	// if they were read, have the wrong content.
	Missing []digest.Digest

	depth Depth
}

// IsIntact reports whether the manifest could be read and Missing is empty.
func (f InspectedPackage) IsIntact() bool { return f.Err == nil && len(f.Missing) == 0 }

// Package returns the package as described by its manifest. If the manifest was not
// read, the package is described by its entry in the index, and its size is -1. To check
// whether its title belongs to a different package, use
// [provider.Package.CheckIdentity].
func (f InspectedPackage) Package(a provider.Address, v provider.Version) provider.Package {
	p := provider.Package{
		Address: a, Version: v, Platform: f.Target.Platform, Filename: provider.Filename(a, v, f.Target.Platform),
		Digest: f.Manifest.Zip.Digest, Size: f.Manifest.Zip.Size, H1: f.Target.H1(), H1Unpacked: f.Target.H1Unpacked(),
	}
	if f.depth < DepthManifests {
		p.Digest, _ = f.Target.Digest()
		p.Size = -1
	}
	switch title := f.Manifest.Title; {
	case a.IsModule() && title != "":
		p.Filename = title // the name of a repository is not always the name of its module
	case title != p.Filename:
		p.ListedAs = title
	}
	return p
}

// inspectPackage inspects one platform. f contains the results of previous inspections.
func inspectPackage(ctx context.Context, repo Reader, f InspectedPackage, t artifact.Target, depth Depth, blobs *blobChecker) (InspectedPackage, error) {
	if f.depth < DepthManifests {
		f.Target = t
		f.Bytes, f.Manifest, f.Err = readTarget(ctx, repo, t)
		if blobs.manifests.Add(int64(len(f.Bytes))) > maxManifests {
			// Return an error instead of a finding, because the remaining manifests are
			// not read.
			return f, &artifact.FormatError{Problem: fmt.Sprintf("manifests exceed %d bytes in total", maxManifests)}
		}
		if f.Err != nil && !isFinding(f.Err) {
			return f, f.Err
		}
	}
	f.depth = depth
	if depth < DepthBlobs || !f.IsIntact() {
		return f, nil
	}
	for _, d := range f.Manifest.Blobs {
		exists, err := blobs.has(ctx, d)
		if err != nil {
			return f, err
		}
		if !exists && !slices.Contains(f.Missing, d.Digest) {
			f.Missing = append(f.Missing, d.Digest)
		}
	}
	return f, nil
}

// readTarget reads the manifest for a platform.
func readTarget(ctx context.Context, repo Reader, t artifact.Target) ([]byte, artifact.Manifest, error) {
	if err := t.Err(); err != nil {
		return nil, artifact.Manifest{}, err
	}
	_, data, err := repo.Manifest(ctx, t.Descriptor.Digest.String())
	if size := int64(len(data)); err == nil && size != t.Descriptor.Size {
		err = &sums.SizeError{Name: "manifest for " + t.Platform.String(), Got: size, Want: t.Descriptor.Size}
	}
	if err != nil {
		return nil, artifact.Manifest{}, err
	}
	m, err := artifact.ParseManifest(data)
	return data, m, err
}
