package repository

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxCopyDepth is the maximum nesting depth of indexes.
	maxCopyDepth = 3
	// maxCopied limits the number of manifests in a release, including its referrers.
	maxCopied = 4096
)

// copier executes one [Copy]. All of its operations share a context, which the first
// failure cancels by calling stop.
type copier struct {
	from    Reader
	to      Repository
	options CopyOptions
	stop    context.CancelCauseFunc
	// sourceManifests contains manifests that were already read from the source.
	// existingManifests records, for each manifest looked up in the target, whether it
	// is intact. existing is the inspection of the target's tag.
	sourceManifests   map[digest.Digest][]byte
	existingManifests map[digest.Digest]bool
	existing          Inspection
	// packages maps the digests of zips to the source's packages. damagedTarget lists
	// blobs that are missing or damaged in the target, even if the target reports that
	// the blobs exist.
	packages      map[digest.Digest]provider.Package
	damagedTarget Inspection
	// manifests and blobs ensure that shared manifests and blobs are copied once.
	manifests, blobs memo.Memo[digest.Digest, struct{}]

	mu sync.Mutex
	// manifestCount counts the manifests below the index.
	manifestCount atomic.Int64
	// mountFrom is the name of the source repository, or empty if blobs can't be mounted
	// from it.
	mountFrom string
	// subjects lists the copied manifests whose referrers have not been read yet.
	subjects []digest.Digest
	// foundMissing reports whether the target lacked a manifest or blob.
	foundMissing bool
	result       CopyResult
}

func newCopier(from Reader, to Repository, o CopyOptions, stop context.CancelCauseFunc) *copier {
	c := &copier{from: newSmallBlobs(from), to: to, options: o, stop: stop, sourceManifests: map[digest.Digest][]byte{}, existingManifests: map[digest.Digest]bool{}}
	if a, b := from.Traits(), to.Traits(); b.Mount != nil && a.Registry == b.Registry {
		c.mountFrom = a.Name
	}
	return c
}

// remember stores the content of two inspections, so that Copy doesn't read the content
// again.
func (c *copier) remember(release, existing Inspection) {
	for _, f := range release.Platforms {
		c.sourceManifests[f.Target.Descriptor.Digest] = f.Bytes
	}
	c.existing, c.existingManifests[existing.Descriptor.Digest] = existing, true
	for _, f := range existing.Platforms {
		c.existingManifests[f.Target.Descriptor.Digest] = f.Err == nil
	}
}

// manifest copies a manifest or index with everything that it refers to.
func (c *copier) manifest(ctx context.Context, m artifact.Blob, depth int) error {
	if err := c.content(ctx, m, depth); err != nil {
		return err
	}
	return c.ensureManifest(ctx, m)
}

// content copies everything that a manifest or index refers to.
func (c *copier) content(ctx context.Context, m artifact.Blob, depth int) error {
	manifests, blobs, err := artifact.Children(m.Bytes)
	if err != nil {
		return err
	}
	if depth == 0 && len(manifests) > 0 {
		return &artifact.FormatError{Problem: "indexes are nested too deeply"}
	}
	limit := cmp.Or(max(c.options.Concurrency, 0), copyConcurrency)
	err = eachOf(c, limit, manifests, func(d ocispec.Descriptor) error { return c.child(ctx, d, depth-1, false) })
	if err != nil {
		return err
	}
	for _, d := range blobs {
		if err := c.blob(ctx, d); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.subjects = append(c.subjects, m.Descriptor.Digest)
	c.mu.Unlock()
	return nil
}

// ensureManifest sends a manifest or index if the target doesn't have it.
func (c *copier) ensureManifest(ctx context.Context, m artifact.Blob) (err error) {
	exists, seen := c.existingManifests[m.Descriptor.Digest]
	if !seen && (!c.isNew() || !isUnchecked(c.to, m.Descriptor.Size)) {
		exists, err = hasManifest(ctx, c.to, m.Descriptor)
	}
	if err != nil || exists || c.noteMissing() {
		return err
	}
	return c.put(ctx, m)
}

// put sends a manifest or index.
func (c *copier) put(ctx context.Context, m artifact.Blob) error {
	return c.contentSender().complete(ctx, m, func() error { return putManifest(ctx, c.to, m, c.existing) })
}

// contentSender sends content of the source again.
func (c *copier) contentSender() contentSender {
	return contentSender{blob: c.transfer, manifest: func(ctx context.Context, d ocispec.Descriptor) error {
		m, err := c.read(ctx, d)
		if err != nil {
			return err
		}
		return c.put(ctx, m)
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

// child copies a manifest from the source unless this run has already copied it. For a
// referrer that is a local decision, it returns errLocal.
func (c *copier) child(ctx context.Context, d ocispec.Descriptor, depth int, isReferrer bool) error {
	if c.manifestCount.Add(1) > maxCopied {
		return &artifact.FormatError{Problem: fmt.Sprintf("artifact has more than %d manifests", maxCopied)}
	}
	_, err := c.manifests.Get(ctx, d.Digest, func(ctx context.Context) (none struct{}, err error) {
		m, err := c.read(ctx, d)
		if err != nil {
			return none, &unreadableError{d.Digest, err}
		}
		if isReferrer && artifact.IsLocalDecision(m.Bytes) {
			return none, errLocal
		}
		return none, c.manifest(ctx, m, depth)
	})
	return err
}

// read returns a manifest of the source.
func (c *copier) read(ctx context.Context, d ocispec.Descriptor) (m artifact.Blob, err error) {
	data, read := c.sourceManifests[d.Digest]
	if !read {
		if _, data, err = c.from.Manifest(ctx, d.Digest.String()); err != nil {
			return m, err
		}
	}
	d.Size = int64(len(data)) // referrers lists can contain a wrong size
	return artifact.Blob{Descriptor: d, Bytes: data}, nil
}

// unreadableError reports which manifest could not be read from the source.
type unreadableError struct {
	manifest digest.Digest
	err      error
}

func (e *unreadableError) Error() string { return e.err.Error() }

func (e *unreadableError) Unwrap() error { return e.err }

// takeSubjects returns the manifests that were copied since the last call.
func (c *copier) takeSubjects() []digest.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := slices.Compact(slices.Sorted(slices.Values(c.subjects)))
	c.subjects = nil
	return taken
}

// eachOf calls do for each item, with at most limit concurrent calls.
func eachOf[T any](c *copier, limit int, items []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(limit)
	for _, item := range items {
		group.Go(func() error {
			err := do(item)
			if err != nil {
				c.stop(err)
			}
			return err
		})
	}
	return group.Wait()
}
