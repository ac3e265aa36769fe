package publish

import (
	"context"
	"fmt"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// finish removes a denial that was overruled, and attaches the documents about all
// platforms to the index that the tag names.
func (q *question) finish(ctx context.Context, f *facts, r *Result) error {
	if q.options.DryRun {
		return nil
	}
	if f.denial != nil && !q.options.Stage {
		if err := f.denial.Remove(ctx, q.repo); err != nil {
			return err
		}
	}
	if q.options.NoReferrers || f.now.Descriptor.Digest == "" || r.Tag != f.tag {
		return nil
	}
	return q.attach(ctx, f, r, f.now.Descriptor)
}

// attach lets the documents about all platforms refer to the index that the tag
// names: the source's, and those that referred to the indexes before it. It adds
// the names of those that were not there to the result. Whoever adds to an index
// later carries over what refers to it by then, so it is enough to look at the
// tag once more.
func (q *question) attach(ctx context.Context, f *facts, r *Result, index ocispec.Descriptor) error {
	for range maxMoves {
		documents, err := q.carried(ctx, f, index)
		if err != nil {
			return err
		}
		names, err := repository.Attach(ctx, q.repo, documents, index)
		if err != nil {
			return err
		}
		r.Attached = slices.Concat(r.Attached, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(r.Attached, name) }))
		r.Digest = index.Digest
		if len(names) == 0 {
			return nil
		}
		now, err := repository.Inspect(ctx, q.repo, r.Tag, repository.DepthIndex)
		if err != nil {
			return fmt.Errorf("reading the tag back: %w", err)
		}
		if now.Digest == index.Digest || now.Descriptor.Digest == "" {
			return nil
		}
		index = now.Descriptor
	}
	return fmt.Errorf("attaching documents: %w, %d times", repository.ErrTagMoved, maxMoves)
}

// carried returns the source's documents, and those of earlier indexes that the
// source has no newer ones of. Approvals are not carried over: each applies to its own
// index only.
func (q *question) carried(ctx context.Context, f *facts, index ocispec.Descriptor) ([]provider.Document, error) {
	documents := slices.Clone(f.documents)
	// The last one first: what was attached again there is the newest.
	for _, before := range slices.Backward(f.earlier) {
		if before.Digest == index.Digest {
			continue
		}
		found, err := repository.Documents(ctx, q.repo, before.Digest)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.MediaType != artifact.TypeApproval && !slices.ContainsFunc(documents, func(o provider.Document) bool { return o.Name == d.Name && o.MediaType == d.MediaType }) {
				documents = append(documents, d)
			}
		}
	}
	return documents, nil
}
