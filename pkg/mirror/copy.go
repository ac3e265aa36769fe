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

// Copy plans and copies as [Run] mirrors, from the repositories that from finds for
// providers: byte for byte, as [publish.Copy] does it with one release. Versions are the
// tags that are there. From is asked once for each provider.
func Copy(ctx context.Context, from func(provider.Address) (repository.Reader, error), wanted []provider.Requirement, o Options) error {
	if from == nil || o.Target == nil {
		return errors.New("copying: there is no source, or Options have no Target")
	}
	from = openOnce(from) // lists the tags of each repository once
	o = o.complete()
	return run(ctx, oci.New(from), wanted, o, func(ctx context.Context, a provider.Address, v provider.Version, t target) (publish.Result, error) {
		source, err := from(a)
		if err != nil {
			return publish.Result{}, err
		}
		return o.Publisher.Copy(ctx, source, t.repo, a, v, t.options)
	})
}

// openOnce keeps the repositories that were opened, with their connections and tokens.
func openOnce(open func(provider.Address) (repository.Reader, error)) func(provider.Address) (repository.Reader, error) {
	var mu sync.Mutex
	opened, listings := map[provider.Address]repository.Reader{}, &repository.Listings{}
	return func(a provider.Address) (repository.Reader, error) {
		mu.Lock()
		defer mu.Unlock()
		if repo, known := opened[a]; known {
			return repo, nil
		}
		repo, err := open(a)
		if err != nil {
			return nil, err
		}
		opened[a] = listings.Reader(repo)
		return opened[a], nil
	}
}
