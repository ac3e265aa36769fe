package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

const (
	// maxQuestions is how many small requests are under way at once.
	maxConcurrentRequests = 8
	// maxManifests bounds the manifests of a release together, in bytes: some
	// kilobytes a platform.
	maxManifests = 8 << 20
)

// Inspection is what a tag leads to, as far as it was looked at. The zero value
// is a tag that is not there.
type Inspection struct {
	Tag string
	// Digest is that of the index; empty when there is no such tag. It is the
	// state that the tag is moved from, see [Repository] PushTag.
	Digest digest.Digest
	// Absent says why there is no such tag: it wraps [ErrNotFound] or
	// [ErrNoRepository]. It is nil when there is one.
	Absent error
	// Descriptor describes the index; the zero value when it is lost.
	Descriptor ocispec.Descriptor
	// Lost tells that the tag is there, and the index that it names is missing
	// or damaged.
	Dangling bool
	// Format is the *[artifact.FormatError] of a tag that holds something else
	// than a provider; nil when it holds one.
	Format error
	// Index is the zero value when it is lost or something else.
	Index artifact.Index
	// Bytes are those of the index.
	Bytes []byte
	// Platforms has those that were looked at.
	Platforms map[provider.Platform]InspectedPackage
}

// Found is what is there of one platform's package.
type InspectedPackage struct {
	Target artifact.Target
	// Manifest is the zero value when it could not be read.
	Manifest artifact.Manifest
	// Bytes are those of the manifest.
	Bytes []byte
	// Err says why the manifest could not be read: [ErrNotFound], a
	// *[sums.MismatchError], a *[sums.SizeError] when the index says another size,
	// or an *[artifact.FormatError].
	Err error
	// Missing are the blobs that the manifest names and that are not there, are
	// there in another size, or, where they were read, with other bytes.
	Missing []digest.Digest

	depth Depth
}

// Whole reports whether the manifest was there, and no blob was found missing.
func (f InspectedPackage) IsIntact() bool { return f.Err == nil && len(f.Missing) == 0 }

// At returns what is known of a platform: what its entry in the index says, where
// nothing more was looked at.
func (i Inspection) At(platform provider.Platform) InspectedPackage {
	f, looked := i.Platforms[platform]
	if !looked {
		f.Target, _ = i.Index.Target(platform)
	}
	return f
}

// Misses reports whether a blob was found missing or damaged.
func (i Inspection) IsMissing(blob digest.Digest) bool {
	for _, f := range i.Platforms {
		if slices.Contains(f.Missing, blob) {
			return true
		}
	}
	return false
}

// Package describes the package as its manifest has it, or its entry in the index
// where the manifest was not read: then its size is -1. Whether its title is that
// of another one, [provider.Package.CheckIdentity] tells.
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

// Exists reports whether there is such a tag.
func (i Inspection) Exists() bool { return i.Digest != "" }

// Inspect looks at what a tag leads to: index, manifests, blobs. It is the one
// place that walks there. That a tag exists proves nothing about what it leads
// to, so what is missing, damaged or of another format is part of the result; the
// error is that of a repository that did not answer. Below the index it looks at
// the named platforms, without any at all of them.
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
	if there, failure := exists(err); !there {
		i.Absent = err
		return i, failure
	}
	i.Digest, i.Descriptor, i.Bytes = d.Digest, d, data
	i.Index, err = artifact.ParseIndex(data)
	if _, ok := errors.AsType[*artifact.FormatError](err); ok {
		i.Format = err
		return i, nil
	}
	if err != nil {
		return i, err
	}
	return i.InspectMore(ctx, repo, depth, platforms...)
}

// Deeper looks further at what an inspection has found, and not again at what it
// has seen. The inspection itself stays as it is.
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentRequests)
	blobs := &blobChecker{repo: repo, read: depth >= DepthContent}
	for _, seen := range i.Platforms {
		blobs.manifests.Add(int64(len(seen.Bytes)))
	}
	for n, t := range unseen {
		group.Go(func() (err error) {
			found[n], err = inspectPackage(ctx, repo, i.Platforms[t.Platform], t, depth, blobs)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return i, err
	}
	i.Platforms = maps.Clone(i.Platforms)
	for n, t := range unseen {
		i.Platforms[t.Platform] = found[n]
	}
	return i, nil
}

// look looks at one platform, of which something may be known.
func inspectPackage(ctx context.Context, repo Reader, f InspectedPackage, t artifact.Target, depth Depth, blobs *blobChecker) (InspectedPackage, error) {
	if f.depth < DepthManifests {
		f.Target = t
		f.Bytes, f.Manifest, f.Err = readTarget(ctx, repo, t)
		if blobs.manifests.Add(int64(len(f.Bytes))) > maxManifests {
			// No finding about this platform: the others are not read any more.
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
		there, err := blobs.has(ctx, d)
		if err != nil {
			return f, err
		}
		if !there && !slices.Contains(f.Missing, d.Digest) {
			f.Missing = append(f.Missing, d.Digest)
		}
	}
	return f, nil
}

// readTarget reads the manifest of a platform, if it has one.
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

// presence asks for each blob once, though manifests share most of them.
type blobChecker struct {
	repo Reader
	// read tells to read each blob.
	read    bool
	results memo.Memo[digest.Digest, bool]
	// manifests counts the bytes of those that are kept.
	manifests atomic.Int64
}

// has reports whether a blob is there in its full size.
func (b *blobChecker) has(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	return b.results.Get(ctx, d.Digest, func(ctx context.Context) (bool, error) {
		there, err := hasBlob(ctx, b.repo, d)
		if !there || err != nil || !b.read {
			return there, err
		}
		return isBlobIntact(ctx, b.repo, d)
	})
}

// has reports whether a blob is there in its full size.
func hasBlob(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	size, err := repo.Stat(ctx, d.Digest)
	there, err := exists(err)
	return there && size == d.Size, err
}

// intact reads a blob and tells whether it has its bytes.
func isBlobIntact(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	body, err := Verified(ctx, repo, d, "blob "+d.Digest.String())
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if err != nil && isFinding(err) {
		return false, nil
	}
	return err == nil, err
}

// isFinding tells what is wrong with an artifact from trouble on the way to it.
func isFinding(err error) bool {
	_, damaged := errors.AsType[*sums.MismatchError](err)
	_, size := errors.AsType[*sums.SizeError](err)
	_, other := errors.AsType[*artifact.FormatError](err)
	return damaged || size || other || errors.Is(err, ErrNotFound)
}
