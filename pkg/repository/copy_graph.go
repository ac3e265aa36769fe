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
	// maxCopyDepth lets an index hold indexes, and those hold some in turn.
	maxCopyDepth = 3
	// maxCopied bounds the manifests of a release with all that refers to it.
	maxCopied = 4096
)

// copier is one run of [Copy]. All of it runs in one context, which the first
// failure ends by stop.
type copier struct {
	from    Reader
	to      Repository
	options CopyOptions
	stop    context.CancelCauseFunc
	// known are manifests that were read at the source already, held those that
	// were looked for at the target: whether it has them, undamaged. there is where
	// that was seen.
	sourceManifests   map[digest.Digest][]byte
	existingManifests map[digest.Digest]bool
	existing          Inspection
	// packages are the source's by the digests of their zips, and lost is what the
	// target was seen to lack although it says that it has it.
	packages      map[digest.Digest]provider.Package
	damagedTarget Inspection
	// Manifests share most blobs, and a list may name one manifest many times.
	manifests, blobs memo.Memo[digest.Digest, struct{}]

	mu sync.Mutex
	// children counts the manifests below the index.
	manifestCount atomic.Int64
	// neighbour is the source's name in the registry of both; empty when they are
	// in different ones, or in one that does not mount.
	mountFrom string
	// subjects are the copied manifests whose referrers were not looked at yet.
	subjects []digest.Digest
	// lacked tells that the target lacked a manifest or a blob.
	foundMissing bool
	result       CopyResult
}

func newCopier(from Reader, to Repository, o CopyOptions, stop context.CancelCauseFunc) *copier {
	c := &copier{from: from, to: to, options: o, stop: stop, sourceManifests: map[digest.Digest][]byte{}, existingManifests: map[digest.Digest]bool{}}
	if a, b := from.Traits(), to.Traits(); b.Mount != nil && a.Registry == b.Registry {
		c.mountFrom = a.Name
	}
	return c
}

// learn keeps what two inspections have read, so that it is not read again.
func (c *copier) remember(release, there Inspection) {
	for _, f := range release.Platforms {
		c.sourceManifests[f.Target.Descriptor.Digest] = f.Bytes
	}
	c.existing, c.existingManifests[there.Descriptor.Digest] = there, true
	for _, f := range there.Platforms {
		c.existingManifests[f.Target.Descriptor.Digest] = f.Err == nil
	}
}

// manifest copies a manifest or index with all that it names.
func (c *copier) manifest(ctx context.Context, m artifact.Blob, depth int) error {
	manifests, blobs, err := artifact.Children(m.Bytes)
	if err != nil {
		return err
	}
	if depth == 0 && len(manifests) > 0 {
		return &artifact.FormatError{Problem: "indexes are nested too deeply"}
	}
	limit := cmp.Or(max(c.options.Concurrency, 0), copyConcurrency)
	err = eachOf(c, limit, manifests, func(d ocispec.Descriptor) error { return c.child(ctx, d, depth-1) })
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
	held, seen := c.existingManifests[m.Descriptor.Digest]
	if !seen {
		held, err = hasManifest(ctx, c.to, m.Descriptor)
	}
	if err != nil || held || c.noteMissing() {
		return err
	}
	return putManifest(ctx, c.to, m, c.existing)
}

// lacks notes that the target lacks something, and tells whether that is all, as in a
// dry run.
func (c *copier) noteMissing() (dry bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.foundMissing = true
	return c.options.DryRun
}

// child reads a manifest at the source and copies it, once in a run.
func (c *copier) child(ctx context.Context, d ocispec.Descriptor, depth int) error {
	if c.manifestCount.Add(1) > maxCopied {
		return &artifact.FormatError{Problem: fmt.Sprintf("artifact has more than %d manifests", maxCopied)}
	}
	_, err := c.manifests.Get(ctx, d.Digest, func(ctx context.Context) (none struct{}, err error) {
		data, read := c.sourceManifests[d.Digest]
		if !read {
			if _, data, err = c.from.Manifest(ctx, d.Digest.String()); err != nil {
				return none, &unreadableError{d.Digest, err}
			}
		}
		d.Size = int64(len(data)) // lists of others may state another one
		return none, c.manifest(ctx, artifact.Blob{Descriptor: d, Bytes: data}, depth)
	})
	return err
}

// unreadError says which manifest could not be read at the source.
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

// eachOf does something for all items, as many at once as limit says.
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
