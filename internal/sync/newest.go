package sync

import (
	"context"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Newest returns the publication date of each provider's newest released version in the
// provider's first target. It sends two requests for each provider in the shard, and
// omits providers whose date is unknown.
func Newest(ctx context.Context, o Options) map[string]time.Time {
	type dated struct {
		address   provider.Address
		published time.Time
	}
	found := map[string]time.Time{}
	schedule.Each(ctx, len(o.Wanted), func(ctx context.Context, i int) (dated, bool) {
		d := dated{address: o.Wanted[i].Address}
		if len(o.Wanted[i].Requirements) > 0 && o.Shard.Has(d.address) {
			d.published, _ = o.newest(ctx, o.Wanted[i])
		}
		return d, true
	}, func(d dated) {
		if !d.published.IsZero() {
			found[d.address.String()] = d.published
		}
	})
	return found
}

// newest returns the publication date of a provider's newest version in its first
// target. If the date is unknown, it returns the zero time.
func (o Options) newest(ctx context.Context, w Wanted) (time.Time, error) {
	repo, err := o.open(o.Declaration.targetsOf(w.Settings)[0], w.Address)
	if err != nil {
		return time.Time{}, err
	}
	tags, err := repo.Tags(ctx)
	if err != nil {
		return time.Time{}, err
	}
	versions := artifact.Tags(tags).Released()
	if len(versions) == 0 {
		return time.Time{}, nil
	}
	i, err := repository.Inspect(ctx, repo, artifact.Tag(versions[0]), repository.DepthIndex)
	return i.Index.Published(), err
}
