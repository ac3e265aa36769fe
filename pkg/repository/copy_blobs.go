package repository

import (
	"context"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// blob copies a blob, once in a run.
func (c *copier) blob(ctx context.Context, d ocispec.Descriptor) error {
	_, err := c.blobs.do(d.Digest, func() (struct{}, error) { return struct{}{}, c.bring(ctx, d) })
	return err
}

// bring has the registry mount a blob, or sends it, unless it is there.
func (c *copier) bring(ctx context.Context, d ocispec.Descriptor) error {
	if there, err := has(ctx, c.to, d); there || err != nil {
		return err
	}
	if mounted, err := c.mount(ctx, d); mounted || err != nil {
		return err
	}
	p := provider.Package{Filename: d.Annotations[ocispec.AnnotationTitle], Digest: d.Digest, Size: d.Size}
	if provider.CheckFilename(p.Filename) != nil {
		p.Filename = d.Digest.String()
	}
	if c.options.Acquire != nil {
		release, err := c.options.Acquire(ctx, d.Size)
		if err != nil {
			return err
		}
		defer release()
	}
	retrier := transfer.Retrier{Backoff: c.options.Backoff, Progress: c.options.Progress}
	if err := retrier.Do(ctx, "copying "+p.Filename, func() error { return c.send(ctx, d, p) }); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done.Blobs, c.done.Bytes = c.done.Blobs+1, c.done.Bytes+d.Size
	return nil
}

// mount asks the registry of both repositories to take a blob over. One that does
// not do that is not asked again.
func (c *copier) mount(ctx context.Context, d ocispec.Descriptor) (mounted bool, err error) {
	c.mu.Lock()
	from := c.neighbour
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
		c.done.Mounted++
	} else {
		c.neighbour = ""
	}
	return mounted, nil
}

// send reads a blob at the source and pushes it.
func (c *copier) send(ctx context.Context, d ocispec.Descriptor, p provider.Package) error {
	body, err := Verified(ctx, c.from, d, p.Filename)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	progress := c.options.Progress
	if d.MediaType != artifact.MediaTypeZip {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // too small to watch
	}
	return transfer.Report(progress, p, d.Size, func(count func(io.Reader) io.Reader) error {
		return transfer.Recorded(count(body), func(content io.Reader) error { return c.to.PushBlob(ctx, d, content) })
	})
}
