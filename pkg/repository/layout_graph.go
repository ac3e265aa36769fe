package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// walker returns a walker that calls do with everything that manifests in the layout refer
// to, and then with the manifests. This includes missing and damaged manifests, but not the
// content that those manifests refer to. If a manifest can't be interpreted, the walk
// fails, because the manifest could refer to any content.
func (l *layout) walker(do func(digest.Digest) error) *walker {
	return &walker{
		concurrency: 1,
		read: func(ctx context.Context, d ocispec.Descriptor, _ bool) (n node, err error) {
			_, data, err := l.manifestOf(ctx, d)
			if err == nil {
				n, err = newNode(artifact.Blob{Bytes: data})
			}
			if err != nil && !isLost(err) {
				return n, fmt.Errorf("reading manifest %s: %w", d.Digest, err)
			}
			n.Descriptor = d
			return n, nil
		},
		manifest: func(_ context.Context, m artifact.Blob) error { return do(m.Descriptor.Digest) },
		blob:     func(_ context.Context, d ocispec.Descriptor) error { return do(d.Digest) },
	}
}

// checkContent returns [ErrContentDeleted] if content that a manifest refers to doesn't
// exist. The layout must be locked. Otherwise, another run that deletes a version could
// delete the content after the check, because no tag refers to the content yet.
func (l *layout) checkContent(ctx context.Context, m artifact.Blob) error {
	check := func(d digest.Digest) error {
		path, err := l.blobPath(d)
		if err == nil {
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %s", ErrContentDeleted, d)
		}
		return err
	}
	if err := l.walker(check).visitBelow(ctx, m); err != nil && !isFormat(err) {
		return err
	}
	return check(m.Descriptor.Digest)
}

// deleteManifest implements [Capabilities.DeleteManifest]. It deletes the content of
// the manifest, then the manifest, and then the tag, so another run can complete an
// interrupted deletion.
func (l *layout) deleteManifest(ctx context.Context, d digest.Digest, tag string) error {
	err := l.keepEntries(ctx, func(entries []ocispec.Descriptor) (others []ocispec.Descriptor, err error) {
		// 1. Check the tags.
		for _, entry := range entries {
			isOurs := isTag(tag)(entry) && (tag != "" || entry.Digest == d)
			switch {
			case isOurs && entry.Digest != d:
				return nil, fmt.Errorf("tag %s: %w", tag, ErrTagMoved)
			case !isOurs && entry.Digest == d:
				return nil, fmt.Errorf("%w: %s", ErrInUse, cmp.Or(entry.Annotations[ocispec.AnnotationRefName], "an entry in index.json without a tag"))
			case !isOurs:
				others = append(others, entry)
			}
		}
		// 2. Delete the content that no other entry needs. The tag is deleted
		// afterward.
		return others, l.collect(ctx, ocispec.Descriptor{Digest: d}, others)
	})
	if err != nil {
		return fmt.Errorf("deleting manifest %s in %s: %w", d, l, err)
	}
	return nil
}

// collect deletes a manifest and everything that it refers to, except content that
// other entries refer to.
func (l *layout) collect(ctx context.Context, manifest ocispec.Descriptor, others []ocispec.Descriptor) error {
	needed, doomed := map[digest.Digest]bool{}, []digest.Digest(nil)
	keep := func(d digest.Digest) error { needed[d] = true; return nil }
	if err := l.walker(keep).visitAll(ctx, others, maxIndexDepth); err != nil {
		return err
	}
	list := func(d digest.Digest) error { doomed = append(doomed, d); return nil }
	if err := l.walker(list).visit(ctx, manifest, maxIndexDepth, false); err != nil {
		return err
	}
	for _, d := range doomed {
		if needed[d] {
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
