package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// layoutGraph collects the content that manifests in a layout refer to. It includes
// missing and damaged manifests, but not the content that those manifests refer to.
type layoutGraph struct {
	layout *layout
	// blobs and manifests contain each digest once. Each manifest precedes the
	// manifests that it refers to.
	blobs, manifests []digest.Digest
	seen             map[digest.Digest]bool
}

func (l *layout) newGraph() *layoutGraph {
	return &layoutGraph{layout: l, seen: map[digest.Digest]bool{}}
}

// addManifest adds a manifest with everything that it refers to. If the manifest can't
// be interpreted, addManifest returns an error, because the manifest could refer to any
// content.
func (g *layoutGraph) addManifest(ctx context.Context, d ocispec.Descriptor, depth int) error {
	if g.seen[d.Digest] {
		return nil
	}
	g.seen[d.Digest] = true
	g.manifests = append(g.manifests, d.Digest)
	_, data, err := g.layout.manifestOf(ctx, d)
	if _, damaged := errors.AsType[*sums.MismatchError](err); damaged || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil {
		err = g.addChildren(ctx, data, depth)
	}
	if err != nil {
		return fmt.Errorf("reading manifest %s: %w", d.Digest, err)
	}
	return nil
}

// addChildren adds everything that a manifest refers to, up to the given nesting depth.
func (g *layoutGraph) addChildren(ctx context.Context, data []byte, depth int) error {
	manifests, blobs, err := artifact.Children(data)
	if err != nil {
		return err
	}
	if depth == 0 && len(manifests) > 0 {
		return &artifact.FormatError{Problem: "indexes are nested too deeply"}
	}
	for _, d := range manifests {
		if err := g.addManifest(ctx, d, depth-1); err != nil {
			return err
		}
	}
	for _, d := range blobs {
		if !g.seen[d.Digest] {
			g.seen[d.Digest] = true
			g.blobs = append(g.blobs, d.Digest)
		}
	}
	return nil
}

// checkContent returns [ErrContentDeleted] if content that a manifest refers to doesn't
// exist. The layout must be locked. Otherwise, another run that deletes a version could
// delete the content after the check, because no tag refers to the content yet.
func (l *layout) checkContent(ctx context.Context, m artifact.Blob) error {
	g := l.newGraph()
	if err := g.addChildren(ctx, m.Bytes, maxCopyDepth); err != nil && !isFormat(err) {
		return err
	}
	for _, d := range slices.Concat(g.blobs, g.manifests, []digest.Digest{m.Descriptor.Digest}) {
		path, err := l.blobPath(d)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s", ErrContentDeleted, d)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// deleteManifest implements [Traits.DeleteManifest]. It deletes blobs first, then
// manifests from the bottom up, and then the tag. Therefore, another run can complete
// an interrupted deletion.
func (l *layout) deleteManifest(ctx context.Context, d digest.Digest, tag string) error {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := l.locked(ctx, func() error {
		index, err := l.readIndex(ctx)
		if err != nil {
			return err
		}
		// 1. Check the tags.
		var others []ocispec.Descriptor
		for _, entry := range index.Manifests {
			isOurs := isTag(tag)(entry) && (tag != "" || entry.Digest == d)
			switch {
			case isOurs && entry.Digest != d:
				return fmt.Errorf("tag %s: %w", tag, ErrTagMoved)
			case !isOurs && entry.Digest == d:
				return fmt.Errorf("%w: %s", ErrInUse, cmp.Or(entry.Annotations[ocispec.AnnotationRefName], "an entry in index.json without a tag"))
			case !isOurs:
				others = append(others, entry)
			}
		}
		// 2. Delete the content that no other entry needs.
		if err := l.collect(ctx, ocispec.Descriptor{Digest: d}, others); err != nil {
			return err
		}
		// 3. Delete the tag.
		index.Manifests = others
		return l.writeIndex(index)
	})
	if err != nil {
		return fmt.Errorf("deleting manifest %s in %s: %w", d, l, err)
	}
	return nil
}

// collect deletes a manifest and everything that it refers to, except content that
// other entries refer to.
func (l *layout) collect(ctx context.Context, manifest ocispec.Descriptor, others []ocispec.Descriptor) error {
	needed, doomed := l.newGraph(), l.newGraph()
	for _, entry := range others {
		if err := needed.addManifest(ctx, entry, maxCopyDepth); err != nil {
			return err
		}
	}
	if err := doomed.addManifest(ctx, manifest, maxCopyDepth); err != nil {
		return err
	}
	slices.Reverse(doomed.manifests)
	for _, d := range slices.Concat(doomed.blobs, doomed.manifests) {
		if needed.seen[d] {
			continue
		}
		path, err := l.blobPath(d)
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
