package repository

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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

// inspector inspects the manifests for the platforms of an index and, if depth is at
// least [DepthBlobs], their blobs.
type inspector struct {
	repo  Reader
	depth Depth

	mu sync.Mutex
	// total is the total size of the manifests in bytes.
	total int64
	// manifests maps the digests of manifests to results. In new results, only
	// Manifest, Bytes, and Err are set. missing reports whether a blob is missing or
	// damaged.
	manifests map[digest.Digest]InspectedPackage
	missing   map[digest.Digest]bool
}

// read reads a manifest unless it is already known. Problems with the manifest are
// findings.
func (x *inspector) read(ctx context.Context, d ocispec.Descriptor, _ bool) (n node, err error) {
	x.mu.Lock()
	f, known := x.manifests[d.Digest]
	x.mu.Unlock()
	if !known {
		_, f.Bytes, err = x.repo.Manifest(ctx, d.Digest.String())
		if err == nil {
			f.Manifest, err = artifact.ParseManifest(f.Bytes)
		}
		if err != nil && !isFinding(err) {
			return n, err
		}
		f.Err = err
		x.mu.Lock()
		defer x.mu.Unlock()
		x.manifests[d.Digest] = f
		if x.total += int64(len(f.Bytes)); x.total > maxManifests {
			// Return an error instead of a finding, because the remaining manifests are
			// not read.
			return n, &artifact.FormatError{Problem: fmt.Sprintf("manifests exceed %d bytes in total", maxManifests)}
		}
	}
	if x.depth >= DepthBlobs {
		n.blobs = f.Manifest.Blobs
	}
	return n, nil
}

func (x *inspector) blob(ctx context.Context, d ocispec.Descriptor) error {
	intact, err := checkBlob(ctx, x.repo, d, x.depth)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.missing[d.Digest] = !intact
	return err
}

// inspected returns the result for a platform. seen is the result of a previous
// inspection.
func (x *inspector) inspected(t artifact.Target, seen InspectedPackage) InspectedPackage {
	f := x.manifests[t.Descriptor.Digest]
	size := int64(len(f.Bytes))
	switch {
	case !seen.IsIntact():
		f = seen
	case t.Err() != nil:
		f = InspectedPackage{Err: t.Err()}
	case f.Bytes != nil && size != t.Descriptor.Size:
		f = InspectedPackage{Err: &sums.SizeError{Name: "manifest for " + t.Platform.String(), Got: size, Want: t.Descriptor.Size}}
	}
	f.Target, f.depth = t, x.depth
	if !f.IsIntact() {
		return f
	}
	for _, d := range f.Manifest.Blobs {
		if x.missing[d.Digest] && !slices.Contains(f.Missing, d.Digest) {
			f.Missing = append(f.Missing, d.Digest)
		}
	}
	return f
}
