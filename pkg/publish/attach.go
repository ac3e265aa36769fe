package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/referrers"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// referrerSource is a source that has documents which cover all platforms.
type referrerSource interface {
	Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error)
}

// attach lets the documents about all platforms refer to the index that the tag
// names: the source's, and those that referred to the indexes before it. It
// gives the names of those that were not there. Whoever adds to an index later
// carries over what refers to it by then, so it is enough to look at the tag
// once more.
func (p *publisher) attach(ctx context.Context, tag string) (attached []string, err error) {
	for range maxMoves {
		documents, err := p.carried(ctx)
		if err != nil {
			return attached, err
		}
		names, err := referrers.Attach(ctx, p.repo, documents, p.index, p.settling())
		if err != nil {
			return attached, err
		}
		for _, name := range names {
			if !slices.Contains(attached, name) {
				attached = append(attached, name)
			}
		}
		if len(names) == 0 {
			return attached, nil
		}
		now, err := p.readStored(ctx, tag)
		if err != nil {
			return attached, fmt.Errorf("reading the tag back: %w", err)
		}
		if now.digest == p.index.Digest || now.descriptor.Digest == "" {
			return attached, nil
		}
		p.index = now.descriptor
	}
	return attached, fmt.Errorf("attaching documents: %w, %d times", artifact.ErrTagMoved, maxMoves)
}

// carried gives the source's documents, and those of earlier indexes that the
// source has no newer ones of.
func (p *publisher) carried(ctx context.Context) ([]provider.Attachment, error) {
	documents := slices.Clone(p.documents)
	// The last one first: what was attached again there is the newest.
	for _, index := range slices.Backward(p.earlier) {
		if index.Digest == p.index.Digest {
			continue
		}
		earlier, err := referrers.Documents(ctx, p.repo, index.Digest)
		if err != nil {
			return nil, err
		}
		for _, e := range earlier {
			if !slices.ContainsFunc(documents, func(d provider.Attachment) bool { return d.Name == e.Name && d.MediaType == e.MediaType }) {
				documents = append(documents, e)
			}
		}
	}
	return documents, nil
}
