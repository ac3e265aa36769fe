package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Depth is the check level. It specifies how thoroughly [Inspect] inspects a tag, and
// how thoroughly an existing release is checked before it is reported as unchanged.
type Depth int

// The depths. Each depth also detects the problems that the preceding depths detect.
const (
	// DepthTags reads only the tag list. It doesn't detect missing indexes, tags of
	// other providers, or platforms that were added or requested after the tag was
	// written.
	DepthTags Depth = iota + 1
	// DepthIndex reads the index that the tag points to. It doesn't detect missing
	// manifests and blobs.
	DepthIndex
	// DepthManifests reads the manifests for the platforms. It doesn't detect missing
	// blobs.
	DepthManifests
	// DepthBlobs checks that every blob in the manifests exists and has the right size.
	// It doesn't detect silent corruption.
	DepthBlobs
	// DepthContent reads every blob and verifies its digest, to detect silent corruption
	// in registries and on disks.
	DepthContent
)

// depths lists the names of the depths in order.
var depths = []string{"tags", "index", "manifests", "blobs", "deep"}

// String returns the name that [ParseDepth] parses.
func (d Depth) String() string { return depths[d-DepthTags] }

// ParseDepth parses the name of a depth. If the name is invalid, it returns a
// *[provider.SyntaxError].
func ParseDepth(s string) (Depth, error) {
	at := slices.Index(depths, s)
	if at < 0 {
		return 0, &provider.SyntaxError{What: "check level", Input: s, Problem: "must be one of " + strings.Join(depths, ", ")}
	}
	return DepthTags + Depth(at), nil
}

const (
	// maxConcurrentRequests is the maximum number of concurrent small requests.
	maxConcurrentRequests = 8
	// maxManifests limits the total size of a release's manifests, in bytes. A typical
	// manifest is a few kilobytes in size.
	maxManifests = 8 << 20
)

// Inspection describes the content that a tag points to, up to the depth of the
// inspection. The zero value describes a missing tag.
type Inspection struct {
	Tag string
	// Digest is the digest of the index, or empty if the tag doesn't exist. Pass it to
	// [Repository].PushTag to replace the tag.
	Digest digest.Digest
	// Absent is the reason the tag doesn't exist. It wraps [ErrNotFound] or
	// [ErrNoRepository]. It is nil if the tag exists.
	Absent error
	// Descriptor describes the index. It is the zero value if the index is missing or
	// damaged.
	Descriptor ocispec.Descriptor
	// Dangling reports whether the tag exists although its index is missing or damaged.
	Dangling bool
	// Format is an *[artifact.FormatError] if the content isn't a provider, or nil if it
	// is. See [Inspection.CheckFormat].
	Format error
	// Module reports whether the content is a module. Format is set, too, so that code
	// that doesn't support modules rejects them.
	Module bool
	// Index is the index of the provider. For a module, it contains the annotations of
	// the manifest. Its only entry is the manifest, with the zero value as the
	// platform. For any other content, it is the zero value.
	Index artifact.Index
	// Bytes is the content of the index.
	Bytes []byte
	// Platforms contains the inspected platforms.
	Platforms map[provider.Platform]InspectedPackage
}

// At returns the package for a platform. If the platform was not inspected, the package
// contains only information from the index.
func (i Inspection) At(platform provider.Platform) InspectedPackage {
	f, looked := i.Platforms[platform]
	if !looked {
		f.Target, _ = i.Index.Target(platform)
	}
	return f
}

// Packages returns the packages for all platforms. See [InspectedPackage.Package].
func (i Inspection) Packages(a provider.Address, v provider.Version) []provider.Package {
	var all []provider.Package
	for _, p := range i.Index.Platforms() {
		all = append(all, i.At(p).Package(a, v))
	}
	return all
}

// IsMissing reports whether the inspection found that a blob is missing or damaged.
func (i Inspection) IsMissing(blob digest.Digest) bool {
	for _, f := range i.Platforms {
		if slices.Contains(f.Missing, blob) {
			return true
		}
	}
	return false
}

// hasBlob reports whether the inspection found a blob in an intact package.
func (i Inspection) hasBlob(blob digest.Digest) bool {
	isBlob := func(d ocispec.Descriptor) bool { return d.Digest == blob }
	for _, f := range i.Platforms {
		if f.depth >= DepthBlobs && f.IsIntact() && slices.ContainsFunc(f.Manifest.Blobs, isBlob) {
			return true
		}
	}
	return false
}

// HasPlatform reports whether the index lists a package for the platform.
func (i Inspection) HasPlatform(platform provider.Platform) bool {
	_, listed := i.Index.Target(platform)
	return listed
}

// Exists reports whether the tag exists.
func (i Inspection) Exists() bool { return i.Digest != "" }

// Root returns the index, or any other manifest that the tag points to.
func (i Inspection) Root() artifact.Blob {
	return artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}
}

// absence returns the reason the content of the tag is missing, or nil.
func (i Inspection) absence() error {
	if i.Dangling {
		return fmt.Errorf("the tag's index is missing: %w", ErrNotFound)
	}
	return i.Absent
}

// Inspect reads the content that a tag points to: the index, manifests, and blobs, up
// to the given depth. Below the index, it inspects only the given platforms, or all
// platforms if none are given.
//
// Missing or damaged content and other formats are reported in the result. Inspect
// returns an error only if the repository doesn't respond or responds with an error.
func Inspect(ctx context.Context, repo Reader, tag string, depth Depth, platforms ...provider.Platform) (Inspection, error) {
	i := Inspection{Tag: tag, Platforms: map[provider.Platform]InspectedPackage{}}
	if err := checkCapabilities(repo); err != nil {
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
	if isFormat(err) {
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

// withModule adds the manifest of a module, which has already been read. Only checking
// the blobs requires more requests.
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
// It doesn't reread content.
func (i Inspection) InspectMore(ctx context.Context, repo Reader, depth Depth, platforms ...provider.Platform) (Inspection, error) {
	if depth <= DepthIndex {
		return i, nil
	}
	if len(platforms) == 0 {
		platforms = i.Index.Platforms()
	}
	x := inspector{repo: repo, depth: depth, manifests: map[digest.Digest]InspectedPackage{}, missing: map[digest.Digest]bool{}}
	for _, f := range i.Platforms {
		x.total += int64(len(f.Bytes))
		if f.Err == nil {
			x.manifests[f.Target.Descriptor.Digest] = f
		}
	}
	var unseen []artifact.Target
	var manifests []ocispec.Descriptor
	for _, platform := range provider.SortPlatforms(platforms) {
		t, listed := i.Index.Target(platform)
		if seen, ok := i.Platforms[platform]; listed && (!ok || seen.depth < depth) {
			unseen = append(unseen, t)
			if t.Err() == nil && seen.IsIntact() {
				manifests = append(manifests, t.Descriptor)
			}
		}
	}
	w := walker{read: x.read, blob: x.blob, concurrency: maxConcurrentRequests}
	if err := w.visitAll(ctx, manifests, maxIndexDepth); err != nil {
		return i, err
	}
	i.Platforms = maps.Clone(i.Platforms)
	for _, t := range unseen {
		i.Platforms[t.Platform] = x.inspected(t, i.Platforms[t.Platform])
	}
	return i, nil
}

// errTagLost is returned if a repository has accepted a tag but doesn't return it.
var errTagLost = provider.Errorf(provider.Transient, "repository accepted the tag but does not return it")

// readBack inspects a tag that was just written. If the tag is missing, it returns a
// [provider.Transient] error.
func readBack(ctx context.Context, repo Reader, tag string) (Inspection, error) {
	now, err := Inspect(ctx, repo, tag, DepthIndex)
	if err == nil && !now.Exists() {
		err = errTagLost
	}
	if err != nil {
		return now, fmt.Errorf("reading the tag back: %w", err)
	}
	return now, nil
}

// WriteTag points a tag to an index whose content the repository has, and reads the tag
// back. If another run has moved the tag, it returns [ErrTagMoved]. It also returns
// errors from the repository.
func WriteTag(ctx context.Context, repo Repository, index artifact.Blob, tag string, was digest.Digest) (Inspection, error) {
	if err := repo.PushTag(ctx, index, tag, was); err != nil {
		return Inspection{}, err
	}
	now, err := readBack(ctx, repo, tag)
	if err == nil && now.Digest != index.Descriptor.Digest {
		err = fmt.Errorf("reading the tag back: %w", ErrTagMoved)
	}
	return now, err
}

// isFinding reports whether err describes a problem with the artifact, as opposed to a
// failed request.
func isFinding(err error) bool {
	_, wrongSize := errors.AsType[*sums.SizeError](err)
	return wrongSize || isLost(err) || isFormat(err)
}
