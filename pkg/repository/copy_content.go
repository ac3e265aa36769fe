package repository

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// copier executes one [Copy].
type copier struct {
	from    Reader
	to      Repository
	options CopyOptions
	walk    walker
	// release is the inspection of the source's tag. existing is the inspection of the
	// target's tag.
	release, existing Inspection
	// packages maps the digests of zips to the source's packages. damagedTarget lists
	// blobs that are missing or damaged in the target, even if the target reports that
	// the blobs exist.
	packages      map[digest.Digest]provider.Package
	damagedTarget Inspection

	mu sync.Mutex
	// mountFrom is the name of the source repository, or empty if blobs can't be mounted
	// from it.
	mountFrom string
	// foundMissing reports whether the target lacked a manifest or blob.
	foundMissing bool
	result       CopyResult
}

func newCopier(from Reader, to Repository, o CopyOptions) *copier {
	c := &copier{from: newSmallBlobs(from), to: to, options: o}
	c.walk = walker{
		read: c.read, manifest: c.ensureManifest, blob: c.ensureBlob,
		concurrency: cmp.Or(max(o.Concurrency, 0), copyConcurrency), maxManifests: maxReleaseManifests,
	}
	if a, b := from.Capabilities(), to.Capabilities(); b.Mount != nil && a.Registry == b.Registry {
		c.mountFrom = a.Name
	}
	return c
}

// read reads a manifest of the source. It skips referrers that are local decisions. Only
// denials and signed decisions by people are copied, because their effect doesn't depend on
// who can write to the source.
func (c *copier) read(ctx context.Context, d ocispec.Descriptor, isReferrer bool) (node, error) {
	m, err := c.release.readManifest(ctx, c.from, d)
	if err != nil {
		return node{}, err
	}
	if isReferrer && artifact.IsLocalDecision(m.Bytes) {
		return node{}, errSkipped
	}
	return newNode(m)
}

// ensureManifest sends a manifest or index if the target doesn't have it.
func (c *copier) ensureManifest(ctx context.Context, m artifact.Blob) (err error) {
	d := m.Descriptor
	f, isInspected := c.existing.manifest(d.Digest)
	exists := isInspected && f.Err == nil || d.Digest == c.existing.Descriptor.Digest
	if !exists && !isInspected && (!c.isNew() || !isUnchecked(c.to, d.Size)) {
		exists, err = hasManifest(ctx, c.to, d)
	}
	if err != nil || exists || c.noteMissing() {
		return err
	}
	return c.put(ctx, m)
}

func (c *copier) put(ctx context.Context, m artifact.Blob) error {
	return c.contentSender().complete(ctx, m, func() error { return putManifest(ctx, c.to, m, c.existing) })
}

// contentSender sends content of the source again.
func (c *copier) contentSender() contentSender {
	return contentSender{put: c.put, blob: c.transfer, manifest: func(ctx context.Context, d ocispec.Descriptor) (artifact.Blob, error) {
		return c.release.readManifest(ctx, c.from, d)
	}}
}

// isNew reports whether the target has no release under the tag. In this case, it is
// more efficient to mount or send small content than to check whether it exists. In a
// dry run, isNew returns false.
func (c *copier) isNew() bool { return !c.existing.Exists() && !c.options.DryRun }

// noteMissing records that the target lacks content, and reports whether this is a dry
// run.
func (c *copier) noteMissing() (dry bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.foundMissing = true
	return c.options.DryRun
}

// copyReferrers copies the referrers of one manifest and adds them to its referrers list. If
// the manifest is the index, copyReferrers sends the index first.
func (c *copier) copyReferrers(ctx context.Context, subject digest.Digest, found referrers) error {
	if subject == c.release.Digest {
		if err := c.ensureManifest(ctx, c.release.Root()); err != nil {
			return err
		}
	}
	known, err := readReferrers(ctx, c.to, subject)
	if err != nil {
		return fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	entries, err := c.walk.visitEntries(ctx, found.entries)
	if err != nil {
		return err
	}
	isNew := func(d ocispec.Descriptor) bool { return !known.has(d.Digest) }
	c.addReferrers(entries, isNew)
	if c.options.DryRun || known.byAPI || !slices.ContainsFunc(entries, isNew) {
		return nil
	}
	list := referrersList{repo: c.to, subject: subject}
	if found.byAPI || found.untagged {
		slices.SortFunc(entries, byDigest)
	} else if len(entries) == len(found.entries) {
		list.original = found.list
	}
	return list.add(ctx, entries, known)
}

// addReferrers adds copied referrers to the result.
func (c *copier) addReferrers(entries []ocispec.Descriptor, isNew func(ocispec.Descriptor) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Referrers += len(entries)
	for _, d := range entries {
		if isNew(d) {
			c.result.Attached = append(c.result.Attached, titleOf(d))
		}
	}
	slices.Sort(c.result.Attached)
}

// ensureBlob mounts or sends a blob if the target doesn't have it. It sends a damaged
// blob again even if the repository reports that the blob exists.
func (c *copier) ensureBlob(ctx context.Context, d ocispec.Descriptor) error {
	switch isDamaged := c.damagedTarget.IsMissing(d.Digest); {
	case isDamaged && c.noteMissing():
		return nil
	case isDamaged:
		return ReplaceBlob(ctx, c.to, d.Digest, func() (int64, error) { return d.Size, c.transfer(ctx, d) })
	case c.options.DryRun:
		return c.sendMissing(ctx, d)
	}
	return c.options.Once.do(ctx, d.Digest, func(ctx context.Context) error { return c.sendMissing(ctx, d) })
}

// sendMissing mounts or sends a blob if the target doesn't have it.
func (c *copier) sendMissing(ctx context.Context, d ocispec.Descriptor) error {
	if c.isNew() {
		if mounted, err := c.mount(ctx, d); mounted || err != nil {
			return err
		}
	}
	if !c.isNew() || !isUnchecked(c.to, d.Size) {
		if exists, err := hasBlob(ctx, c.to, d); exists || err != nil {
			return err
		}
	}
	if c.noteMissing() {
		return nil
	}
	if !c.isNew() {
		if mounted, err := c.mount(ctx, d); mounted || err != nil {
			return err
		}
	}
	return c.transfer(ctx, d)
}

func (c *copier) transfer(ctx context.Context, d ocispec.Descriptor) error {
	retrier := transfer.Retrier{Backoff: c.to.Capabilities().Backoff, Progress: c.options.Progress}
	if c.options.Acquire != nil {
		slot, err := transfer.NewSlot(ctx, c.options.Acquire, d.Size)
		if err != nil {
			return err
		}
		defer slot.Release()
		retrier.Slot = slot
	}
	p := c.packageOf(d)
	if err := retrier.Do(ctx, "copying "+p.Filename, func() error { return c.send(ctx, d, p) }); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Blobs, c.result.Bytes = c.result.Blobs+1, c.result.Bytes+d.Size
	c.markPackages(d.Digest, func(p *CopiedPackage) { p.Sent = true })
	return nil
}

// packageOf returns the package whose zip is the given blob. For any other blob, it
// returns a package with the name of the blob.
func (c *copier) packageOf(d ocispec.Descriptor) provider.Package {
	if p, isZip := c.packages[d.Digest]; isZip {
		return p
	}
	p := provider.Package{Filename: d.Annotations[ocispec.AnnotationTitle], Digest: d.Digest, Size: d.Size}
	if provider.CheckFilename(p.Filename) != nil {
		p.Filename = d.Digest.String()
	}
	return p
}

// markPackages calls mark for each package with the given zip. The caller must hold
// c.mu.
func (c *copier) markPackages(zip digest.Digest, mark func(*CopiedPackage)) {
	for i, p := range c.result.Packages {
		if p.Package.Digest == zip {
			mark(&c.result.Packages[i])
		}
	}
}

// mount mounts a blob if both repositories are in the same registry. After the registry
// has refused to mount a blob, mount doesn't try again.
func (c *copier) mount(ctx context.Context, d ocispec.Descriptor) (mounted bool, err error) {
	c.mu.Lock()
	from := c.mountFrom
	c.mu.Unlock()
	if from == "" {
		return false, nil
	}
	mounted, err = c.to.Capabilities().Mount(ctx, d, from)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if mounted {
		c.result.Mounted++
		c.markPackages(d.Digest, func(p *CopiedPackage) { p.Mounted = true })
	} else {
		c.mountFrom = ""
	}
	return mounted, nil
}

// send reads a blob from the source and pushes it.
func (c *copier) send(ctx context.Context, d ocispec.Descriptor, p provider.Package) error {
	body, err := Verified(ctx, c.from, d, p.Filename)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	progress := c.options.Progress
	if d.MediaType != artifact.MediaTypeZip {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // too small to report
	}
	content := transfer.Start(progress, p, d.Size, body)
	return content.End(c.to.PushBlob(ctx, d, content))
}
