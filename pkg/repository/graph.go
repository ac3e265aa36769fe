package repository

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// Graph is the content that belongs to a tag: its manifest, everything that the
// manifest refers to, and the referrers of all manifests.
type Graph struct {
	// Root is the descriptor of the manifest that the tag points to.
	Root ocispec.Descriptor
	// Manifests contains each manifest once, after the manifests that it refers to.
	Manifests []artifact.Blob
	// Blobs contains each blob once.
	Blobs []ocispec.Descriptor
	// Referrers maps referrers tags to the descriptors of their referrers lists.
	// Manifests contains these lists, too.
	Referrers map[string]ocispec.Descriptor
}

// ReadGraph reads the manifests that belong to the tag, but no blobs. It doesn't read the
// inspected manifests again. It has the same limits as [Copy]. If content is missing, the
// error wraps [ErrNotFound]. Missing referrers are omitted, as in a copy.
func (i Inspection) ReadGraph(ctx context.Context, repo Reader) (Graph, error) {
	g := Graph{Root: i.Descriptor, Referrers: map[string]ocispec.Descriptor{}}
	if err := g.read(ctx, repo, i); err != nil {
		return Graph{}, fmt.Errorf("reading %s in %s: %w", i.Tag, repo, err)
	}
	return g, nil
}

func (g *Graph) read(ctx context.Context, repo Reader, i Inspection) error {
	if err := i.absence(); err != nil {
		return err
	}
	w := walker{
		concurrency: 1, maxManifests: maxReleaseManifests,
		read: func(ctx context.Context, d ocispec.Descriptor, _ bool) (node, error) {
			m, err := i.readManifest(ctx, repo, d)
			if err != nil {
				return node{}, err
			}
			return newNode(m)
		},
		manifest: func(_ context.Context, m artifact.Blob) error {
			g.Manifests = append(g.Manifests, m)
			return nil
		},
		blob: func(_ context.Context, d ocispec.Descriptor) error {
			g.Blobs = append(g.Blobs, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
			return nil
		},
	}
	if err := w.visitBelow(ctx, i.Root()); err != nil {
		return err
	}
	g.Manifests = append(g.Manifests, i.Root())
	return w.visitReferrers(ctx, repo, 1, func(ctx context.Context, subject digest.Digest, found referrers) error {
		entries, err := w.visitEntries(ctx, found.entries)
		if err != nil || len(entries) == 0 {
			return err
		}
		slices.SortFunc(entries, byDigest)
		list, err := artifact.AddReferrer(nil, entries...)
		if err != nil {
			return err
		}
		isList := func(m artifact.Blob) bool { return m.Descriptor.Digest == list.Descriptor.Digest }
		if !slices.ContainsFunc(g.Manifests, isList) {
			g.Manifests = append(g.Manifests, list)
		}
		g.Referrers[artifact.ReferrersTag(subject)] = list.Descriptor
		return nil
	})
}
