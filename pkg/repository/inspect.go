package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxConcurrentRequests is the maximum number of concurrent small requests.
	maxConcurrentRequests = 8
	// maxManifests limits the total size of a release's manifests, in bytes. A typical
	// manifest has a few kilobytes.
	maxManifests = 8 << 20
)

// Inspection describes the content that a tag points to, up to the depth of the
// inspection. The zero value describes a missing tag.
type Inspection struct {
	Tag string
	// Digest is the digest of the index, or empty if the tag doesn't exist. Pass it to
	// [Repository].PushTag to replace the tag.
	Digest digest.Digest
	// Absent describes why the tag doesn't exist. It wraps [ErrNotFound] or
	// [ErrNoRepository]. It is nil if the tag exists.
	Absent error
	// Descriptor describes the index. It is the zero value if the index is missing or damaged.
	Descriptor ocispec.Descriptor
	// Dangling reports that the tag exists, but its index is missing or damaged.
	Dangling bool
	// Format is a *[artifact.FormatError] if the content isn't a provider, otherwise nil.
	// See [Inspection.CheckFormat].
	Format error
	// Module reports that the content is a module. Format is set, too, so that flows
	// that don't support modules reject them.
	Module bool
	// Index is the index of the provider. For a module, it contains the annotations of
	// the manifest, and the manifest as the only entry, whose platform is the zero
	// value. For all other content, it is the zero value.
	Index artifact.Index
	// Bytes is the content of the index.
	Bytes []byte
	// Platforms contains the inspected platforms.
	Platforms map[provider.Platform]InspectedPackage
}

// InspectedPackage describes the stored package of a platform.
type InspectedPackage struct {
	Target artifact.Target
	// Manifest is the zero value if the manifest could not be read.
	Manifest artifact.Manifest
	// Bytes is the content of the manifest.
	Bytes []byte
	// Err describes why the manifest could not be read. It is [ErrNotFound], a
	// *[sums.MismatchError], a *[sums.SizeError] if the index states a different size,
	// or an *[artifact.FormatError].
	Err error
	// Missing lists the blobs of the manifest that are missing, have the wrong size, or, if
	// they were read, have the wrong content.
	Missing []digest.Digest

	depth Depth
}

// IsIntact reports whether the manifest could be read and no blob was found missing.
func (f InspectedPackage) IsIntact() bool { return f.Err == nil && len(f.Missing) == 0 }

// At returns the package of a platform. If the platform was not inspected, the package
// contains only information from the index.
func (i Inspection) At(platform provider.Platform) InspectedPackage {
	f, looked := i.Platforms[platform]
	if !looked {
		f.Target, _ = i.Index.Target(platform)
	}
	return f
}

// IsMissing reports whether a blob was found missing or damaged.
func (i Inspection) IsMissing(blob digest.Digest) bool {
	for _, f := range i.Platforms {
		if slices.Contains(f.Missing, blob) {
			return true
		}
	}
	return false
}

// Package returns the package as described by its manifest. If the manifest was not read, the
// package is described by its entry in the index and its size is -1. Use
// [provider.Package.CheckIdentity] to check whether its title belongs to a different package.
func (f InspectedPackage) Package(a provider.Address, v provider.Version) provider.Package {
	p := provider.Package{
		Address: a, Version: v, Platform: f.Target.Platform, Filename: provider.Filename(a, v, f.Target.Platform),
		Digest: f.Manifest.Zip.Digest, Size: f.Manifest.Zip.Size, H1: f.Target.H1(),
	}
	if f.depth < DepthManifests {
		p.Digest, _ = f.Target.Digest()
		p.Size = -1
	}
	if f.Manifest.Title != p.Filename {
		p.ListedAs = f.Manifest.Title
	}
	return p
}

// HasPlatform reports whether the index lists a package for the platform.
func (i Inspection) HasPlatform(platform provider.Platform) bool {
	_, listed := i.Index.Target(platform)
	return listed
}

// Exists reports whether the tag exists.
func (i Inspection) Exists() bool { return i.Digest != "" }

// Inspect reads the content that a tag points to: the index, manifests, and blobs, up
// to the given depth. Below the index, it inspects only the given platforms, or all
// platforms if none are given.
//
// The result includes missing or damaged content and other formats. Inspect returns an
// error only if the repository doesn't respond or responds with an error.
func Inspect(ctx context.Context, repo Reader, tag string, depth Depth, platforms ...provider.Platform) (Inspection, error) {
	i := Inspection{Tag: tag, Platforms: map[provider.Platform]InspectedPackage{}}
	if err := checkTraits(repo); err != nil {
		return i, err
	}
	d, data, err := repo.Manifest(ctx, tag)
	if lost, ok := errors.AsType[*DanglingTagError](err); ok {
		i.Digest, i.Dangling = lost.Index.Digest, true
		return i, nil
	}
	if exists, failure := isFound(err); !exists {
		i.Absent = err
		return i, failure
	}
	i.Digest, i.Descriptor, i.Bytes = d.Digest, d, data
	i.Index, err = artifact.ParseIndex(data)
	if _, ok := errors.AsType[*artifact.FormatError](err); ok {
		i.Format, err = err, nil
		if module, notModule := artifact.ParseModule(data); notModule == nil {
			i = i.withModule(module)
		}
	}
	if err != nil {
		return i, err
	}
	return i.InspectMore(ctx, repo, depth, platforms...)
}

// withModule adds the manifest of a module. Only a check of the blobs must
// read more.
func (i Inspection) withModule(m artifact.Manifest) Inspection {
	t := artifact.Target{Descriptor: i.Descriptor}
	i.Module, i.Index = true, artifact.Index{Targets: []artifact.Target{t}, Annotations: m.Annotations}
	i.Platforms[t.Platform] = InspectedPackage{Target: t, Manifest: m, Bytes: i.Bytes, depth: DepthManifests}
	return i
}

// CheckFormat returns a *[artifact.FormatError] if the content isn't a provider or, for
// the address of a module, isn't a module.
func (i Inspection) CheckFormat(a provider.Address) error {
	switch {
	case !a.IsModule():
		return i.Format
	case i.Module || !i.Exists() || i.Dangling:
		return nil
	}
	_, err := artifact.ParseModule(i.Bytes)
	return err
}

// InspectMore returns a copy of the inspection with a greater depth or more platforms.
// It doesn't read the same content again.
func (i Inspection) InspectMore(ctx context.Context, repo Reader, depth Depth, platforms ...provider.Platform) (Inspection, error) {
	if depth <= DepthIndex {
		return i, nil
	}
	if len(platforms) == 0 {
		platforms = i.Index.Platforms()
	}
	var unseen []artifact.Target
	for _, platform := range provider.SortPlatforms(platforms) {
		t, listed := i.Index.Target(platform)
		if seen, ok := i.Platforms[platform]; listed && (!ok || seen.depth < depth) {
			unseen = append(unseen, t)
		}
	}
	found := make([]InspectedPackage, len(unseen))
	blobs := &blobChecker{repo: repo, read: depth >= DepthContent}
	for _, seen := range i.Platforms {
		blobs.manifests.Add(int64(len(seen.Bytes)))
	}
	err := schedule.All(ctx, maxConcurrentRequests, unseen, func(ctx context.Context, n int, t artifact.Target) (err error) {
		found[n], err = inspectPackage(ctx, repo, i.Platforms[t.Platform], t, depth, blobs)
		return err
	})
	if err != nil {
		return i, err
	}
	i.Platforms = maps.Clone(i.Platforms)
	for n, t := range unseen {
		i.Platforms[t.Platform] = found[n]
	}
	return i, nil
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

// readTarget reads the manifest of a platform.
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

// isFinding reports whether err describes a problem of the artifact, as opposed to a
// failed request.
func isFinding(err error) bool {
	_, damaged := errors.AsType[*sums.MismatchError](err)
	_, size := errors.AsType[*sums.SizeError](err)
	_, other := errors.AsType[*artifact.FormatError](err)
	return damaged || size || other || errors.Is(err, ErrNotFound)
}
