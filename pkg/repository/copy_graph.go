package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxCopyDepth is index, manifest, and an index in an index between them.
	maxCopyDepth = 3
	// maxCopied bounds the manifests of a release with all that refers to it.
	maxCopied = 4096
)

// copier is one run of [Copy].
type copier struct {
	from    Reader
	to      Repository
	options CopyOptions
	// neighbour is the source's name in the registry of both; empty when they
	// are in different ones.
	neighbour string

	mu sync.Mutex
	// once copies each blob once, though manifests share most of them.
	once           map[digest.Digest]func() error
	blobs, mounted int
	bytes          int64
	referring      int
	// manifests counts those that were read below the index.
	manifests atomic.Int64
}

func newCopier(from Reader, to Repository, o CopyOptions) *copier {
	c := &copier{from: from, to: to, options: o, once: map[digest.Digest]func() error{}}
	if a, b := from.Traits(), to.Traits(); b.Mount != nil && a.Registry == b.Registry {
		c.neighbour = a.Name
	}
	return c
}

// graph copies a manifest or index with all that it names.
func (c *copier) graph(ctx context.Context, m artifact.Blob) error {
	return c.manifest(ctx, m, maxCopyDepth)
}

func (c *copier) manifest(ctx context.Context, m artifact.Blob, depth int) error {
	manifests, blobs, err := artifact.Children(m.Bytes)
	if err != nil {
		return err
	}
	if depth == 0 && len(manifests) > 0 {
		return &artifact.FormatError{Problem: "has more levels of indexes than are copied"}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(max(c.options.Concurrency, 0), DefaultCopyConcurrency))
	for _, d := range manifests {
		group.Go(func() error { return c.child(groupCtx, d, depth-1) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, d := range blobs {
		if err := c.blob(ctx, d); err != nil {
			return err
		}
	}
	there, err := holdsManifest(ctx, c.to, m.Descriptor)
	if err != nil || there {
		return err
	}
	return c.to.PushManifest(ctx, m)
}

// child reads a manifest at the source and copies it.
func (c *copier) child(ctx context.Context, d ocispec.Descriptor, depth int) error {
	if c.manifests.Add(1) > maxCopied {
		return &artifact.FormatError{Problem: fmt.Sprintf("has more than %d manifests that belong to it", maxCopied)}
	}
	_, data, err := c.from.Manifest(ctx, d.Digest.String())
	if err != nil {
		return err
	}
	return c.manifest(ctx, artifact.Blob{Descriptor: d, Bytes: data}, depth)
}

// blob copies a blob, once in a run.
func (c *copier) blob(ctx context.Context, d ocispec.Descriptor) error {
	c.mu.Lock()
	do, known := c.once[d.Digest]
	if !known {
		do = sync.OnceValue(func() error { return c.send(ctx, d) })
		c.once[d.Digest] = do
	}
	c.mu.Unlock()
	return do()
}

// send brings a blob to the target unless it is there.
func (c *copier) send(ctx context.Context, d ocispec.Descriptor) error {
	if there, err := has(ctx, c.to, d); there || err != nil {
		return err
	}
	name := cmp.Or(d.Annotations[ocispec.AnnotationTitle], d.Digest.String())
	retrier := transfer.Retrier{Backoff: c.options.Backoff, Progress: c.options.Progress}
	return retrier.Do(ctx, "copying "+name, func() error {
		if c.neighbour != "" {
			return c.mount(ctx, d, name)
		}
		body, err := Verified(ctx, c.from, d, name)
		if err != nil {
			return err
		}
		return c.push(d, name, body, func(content io.Reader) error { return c.to.PushBlob(ctx, d, content) })
	})
}

// mount asks the registry to take a blob over; where it wants the content, it is
// sent.
func (c *copier) mount(ctx context.Context, d ocispec.Descriptor, name string) error {
	uploaded := false
	err := c.to.Traits().Mount(ctx, d, c.neighbour, func() (io.ReadCloser, error) {
		uploaded = true
		return Verified(ctx, c.from, d, name)
	})
	if err != nil {
		return transfer.Renewing(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if uploaded {
		c.blobs, c.bytes = c.blobs+1, c.bytes+d.Size
	} else {
		c.mounted++
	}
	return nil
}

// push sends a blob's content, and reports it.
func (c *copier) push(d ocispec.Descriptor, name string, body io.ReadCloser, push func(io.Reader) error) error {
	defer func() { _ = body.Close() }()
	progress := c.options.Progress
	if d.MediaType != artifact.MediaTypeZip {
		progress.Begin, progress.Advance, progress.End = nil, nil, nil // too small to watch
	}
	p := provider.Package{Filename: name, Digest: d.Digest, Size: d.Size}
	err := transfer.Report(progress, p, d.Size, func(count func(io.Reader) io.Reader) error {
		return transfer.Recorded(count(body), push)
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blobs, c.bytes = c.blobs+1, c.bytes+d.Size
	return nil
}

// referrers copies what refers to the index and to the manifests of a release.
func (c *copier) referrers(ctx context.Context, release Inspection) error {
	if c.options.NoReferrers {
		return nil
	}
	subjects := []digest.Digest{release.Digest}
	for _, t := range release.Index.Targets {
		subjects = append(subjects, t.Descriptor.Digest)
	}
	return each(ctx, subjects, c.refer)
}

// refer copies what refers to one manifest.
func (c *copier) refer(ctx context.Context, subject digest.Digest) error {
	have, err := readReferrers(ctx, c.from, subject)
	if isFormat(err) || errors.Is(err, ErrSubject) {
		return nil // no list of referrers lies there
	}
	if err != nil {
		return fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	var entries []ocispec.Descriptor
	for _, d := range have.entries {
		err := c.child(ctx, d, maxCopyDepth)
		if errors.Is(err, ErrNotFound) {
			continue // a clean-up job took it away, as jobs do that know no referrers
		}
		if err != nil {
			return fmt.Errorf("copying the referrer %s: %w", d.Digest, err)
		}
		entries = append(entries, d)
	}
	c.mu.Lock()
	c.referring += len(entries)
	c.mu.Unlock()
	known, err := readReferrers(ctx, c.to, subject)
	if err != nil && len(entries) > 0 {
		return err
	}
	if known.byAPI || len(entries) == 0 {
		return nil
	}
	return addEntries(ctx, c.to, entries, subject, known, c.options.Settle)
}
