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

// attach lets the documents about all platforms refer to the index that the tag
// names: the source's, and those that referred to the indexes before it. It adds
// the names of those that were not there to the result. Whoever adds to an index
// later carries over what refers to it by then, so it is enough to look at the
// tag once more.
func (p publisher) attach(ctx context.Context, done outcome) (result Result, err error) {
	result, index := done.result, done.index.Descriptor
	own := done.learned.documents
	if done.learned.release == nil {
		if own, err = p.documents(ctx, provider.Release{Address: p.address, Version: p.version}); err != nil {
			return result, err
		}
	}
	for range maxMoves {
		documents, err := p.carried(ctx, own, done.learned.earlier, index)
		if err != nil {
			return result, err
		}
		names, err := repository.Attach(ctx, p.repo, documents, index, p.settling())
		if err != nil {
			return result, err
		}
		result.Attached = slices.Concat(result.Attached, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(result.Attached, name) }))
		result.Digest = index.Digest
		if len(names) == 0 {
			return result, nil
		}
		now, err := repository.Inspect(ctx, p.repo, result.Tag, repository.DepthIndex)
		if err != nil {
			return result, fmt.Errorf("reading the tag back: %w", err)
		}
		if now.Digest == index.Digest || now.Descriptor.Digest == "" {
			return result, nil
		}
		index = now.Descriptor
	}
	return result, fmt.Errorf("attaching documents: %w, %d times", repository.ErrTagMoved, maxMoves)
}

// carried gives the source's documents, and those of earlier indexes that the
// source has no newer ones of. Approvals are not carried over: each applies to its own
// index only.
func (p publisher) carried(ctx context.Context, own []provider.Document, earlier []ocispec.Descriptor, index ocispec.Descriptor) ([]provider.Document, error) {
	documents := slices.Clone(own)
	// The last one first: what was attached again there is the newest.
	for _, before := range slices.Backward(earlier) {
		if before.Digest == index.Digest {
			continue
		}
		found, err := repository.Documents(ctx, p.repo, before.Digest)
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
