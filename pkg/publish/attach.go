package publish

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/referrers"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// referrerSource is a source that has documents which cover all platforms.
type referrerSource interface {
	Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error)
}

// attach lets the documents about all platforms refer to the index that the tag
// names: the source's, and those that referred to the index before it was
// replaced. It gives the names of those that were not there.
func (p *publisher) attach(ctx context.Context) (attached []string, err error) {
	var documents []provider.Attachment
	if src, ok := p.src.(referrerSource); ok {
		if documents, err = src.Referrers(ctx, p.address, p.version); err != nil {
			return nil, err
		}
	}
	if p.before.Digest != "" && p.before.Digest != p.index.Digest {
		earlier, err := referrers.Documents(ctx, p.repo, p.before.Digest)
		if err != nil {
			return nil, err
		}
		for _, e := range earlier {
			if !slices.ContainsFunc(documents, func(d provider.Attachment) bool { return d.Name == e.Name && d.MediaType == e.MediaType }) {
				documents = append(documents, e)
			}
		}
	}
	for _, d := range documents {
		isNew, err := referrers.Attach(ctx, p.repo, d, p.index)
		if err != nil {
			return attached, err
		}
		if isNew {
			attached = append(attached, d.Name)
		}
	}
	return attached, nil
}
