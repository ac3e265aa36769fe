package repository

import (
	"context"
	"errors"
	"fmt"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxNames is the maximum number of repositories in a registry. maxNameBytes is the
	// maximum total size of their names.
	maxNames     = 100_000
	maxNameBytes = 16 << 20
	// maxNamePages limits the number of pages of a catalog. Registries return 100 or
	// more names per page, and some return fewer than requested.
	maxNamePages = 2000
	// namesOnPage is the requested number of names per page. Registries can return
	// fewer names.
	namesOnPage = 1000
)

// ErrNoCatalog is returned if a registry doesn't support listing its repositories, or
// if the credentials don't permit it.
var ErrNoCatalog = provider.Errorf(provider.Refused, "registry does not list its repositories")

// Catalog returns the names of all repositories in a registry. It uses /v2/_catalog,
// which only some registries support and few make available to clients. If it is not
// available, Catalog returns [ErrNoCatalog]. Catalog uses the credentials for the
// repository ref, which need not exist. See
// https://distribution.github.io/distribution/spec/api/#listing-repositories.
func Catalog(ctx context.Context, ref template.Reference, o Options) (names []string, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, err
	}
	client := o.client(registry.Reference{Registry: ref.Registry, Repository: ref.Name})
	from := o.remoteRegistry(ref.Registry, client)
	from.RepositoryListPageSize = namesOnPage
	retrier := transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress}
	err = retrier.Do(ctx, "listing the repositories of "+ref.Registry, func() error {
		names, err = catalog(ctx, from)
		return err
	})
	if err == nil {
		return names, nil
	}
	translated := client.state.translate(err)
	if lacksAPI(translated) || errors.Is(translated, provider.ErrForbidden) || errors.Is(translated, ErrNotFound) {
		translated = fmt.Errorf("%w: %w", ErrNoCatalog, translated)
	}
	return nil, &Error{Op: "listing the repositories of", Registry: ref.Registry, Err: translated}
}

func catalog(ctx context.Context, from *remote.Registry) ([]string, error) {
	var all []string
	pages, size := 0, 0
	err := from.Repositories(atOrigin(withPages(ctx)), "", func(page []string) error {
		for _, name := range page {
			size += len(name)
		}
		all = append(all, page...)
		if pages++; pages > maxNamePages || len(all) > maxNames || size > maxNameBytes {
			return fmt.Errorf("list exceeds %d names, %d bytes, or %d pages", maxNames, maxNameBytes, maxNamePages)
		}
		return nil
	})
	return all, err
}
