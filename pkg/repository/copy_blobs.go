package repository

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// blob copies a blob unless this run has already copied it.
func (c *copier) blob(ctx context.Context, d ocispec.Descriptor) error {
	_, err := c.blobs.Get(ctx, d.Digest, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.ensureBlob(ctx, d) })
	return err
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

// transfer sends a blob, with retries.
func (c *copier) transfer(ctx context.Context, d ocispec.Descriptor) error {
	retrier := transfer.Retrier{Backoff: c.to.Traits().Backoff, Progress: c.options.Progress}
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
	mounted, err = c.to.Traits().Mount(ctx, d, from)
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
