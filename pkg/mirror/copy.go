package mirror

import (
	"context"
	"errors"
	"sync"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Copy is like [Run], but copies releases byte for byte from the repositories that from
// returns. It copies each release with [publish.Publisher.Copy], and considers only
// versions that have tags. It calls from only once for each provider.
func Copy(ctx context.Context, from func(provider.Address) (repository.Reader, error), wanted []provider.Requirement, o Options) error {
	if from == nil || o.Target == nil {
		return errors.New("copying: a source and Options.Target are required")
	}
	o = o.withDefaults()
	from = openOnce(wanted, from)
	return RunWith(ctx, oci.New(from), wanted, o, func(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, options publish.Options) (publish.Result, error) {
		source, err := from(a)
		if err != nil {
			return publish.Result{}, err
		}
		return o.Publisher.Copy(ctx, source, repo, a, v, options)
	})
}

// openOnce returns a function that opens each provider's repository, and lists the
// repository's tags, only once.
func openOnce(wanted []provider.Requirement, open func(provider.Address) (repository.Reader, error)) func(provider.Address) (repository.Reader, error) {
	listings := &repository.Listings{}
	opened := map[provider.Address]func() (repository.Reader, error){}
	for _, r := range wanted {
		opened[r.Address] = sync.OnceValues(func() (repository.Reader, error) {
			repo, err := open(r.Address)
			if err != nil {
				return nil, err
			}
			return listings.Reader(repo), nil
		})
	}
	return func(a provider.Address) (repository.Reader, error) { return opened[a]() }
}
