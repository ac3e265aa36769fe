package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// maxNames bounds the repositories of a registry, and maxNameBytes their names.
	maxNames     = 100_000
	maxNameBytes = 16 << 20
	// maxNamePages bounds the pages of a catalog. Registries put 100 names or more on
	// one, and some of them give less than is asked for.
	maxNamePages = 2000
	// namesOnPage is how many are asked for: more than registries give.
	namesOnPage = 1000
)

// CatalogError says that a registry does not list its repositories: it has no such
// API, or does not show it to this login.
type CatalogError struct {
	// Registry is "host" or "host:port".
	Registry string
	Err      error
}

func (e *CatalogError) Error() string {
	return fmt.Sprintf("the registry %s does not list its repositories: %v", e.Registry, e.Err)
}

// Kind is [provider.Refused].
func (e *CatalogError) Kind() provider.ErrorKind { return provider.Refused }

// Unwrap gives the registry's answer.
func (e *CatalogError) Unwrap() error { return e.Err }

// Catalog lists the names of all repositories of a registry, by /v2/_catalog, which
// not all registries have, and few show to everybody: then the error is a
// *[CatalogError]. At names one of its repositories, whose login is used; it need not
// exist.
// https://distribution.github.io/distribution/spec/api/#listing-repositories
func Catalog(ctx context.Context, at template.Reference, o Options) (names []string, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, err
	}
	login := &loginState{}
	named := registry.Reference{Registry: at.Registry, Repository: at.Name}
	plain := slices.Contains(o.PlainHTTP, at.Registry)
	from := &remote.Registry{
		RepositoryOptions: remote.RepositoryOptions{
			Reference: registry.Reference{Registry: at.Registry}, Client: o.client(named, login), PlainHTTP: plain,
			MaxMetadataBytes: artifact.MaxManifestSize,
		},
		RepositoryListPageSize: namesOnPage,
	}
	retrier := transfer.Retrier{Backoff: o.Backoff, Progress: o.Progress}
	err = retrier.Do(ctx, "listing the repositories of "+at.Registry, func() error {
		names, err = catalog(ctx, from)
		return err
	})
	if err == nil {
		return names, nil
	}
	err = login.translate(err)
	answer, refused := errors.AsType[*ResponseError](err)
	if errors.Is(err, provider.ErrDenied) || errors.Is(err, ErrNotFound) || refused && slices.Contains(noSuchAPI, answer.Status) {
		return nil, &CatalogError{Registry: at.Registry, Err: err}
	}
	if page, is := errors.AsType[*PageError](err); is {
		return nil, &CatalogError{Registry: at.Registry, Err: page}
	}
	return nil, fmt.Errorf("listing the repositories of %s: %w", at.Registry, err)
}

// catalog reads all pages.
func catalog(ctx context.Context, from *remote.Registry) ([]string, error) {
	var all []string
	pages, size := 0, 0
	err := from.Repositories(ctx, "", func(page []string) error {
		for _, name := range page {
			size += len(name)
		}
		all = append(all, page...)
		if pages++; pages > maxNamePages || len(all) > maxNames || size > maxNameBytes {
			return fmt.Errorf("the list does not end: it has more than %d names, %d bytes of them, or %d pages", maxNames, maxNameBytes, maxNamePages)
		}
		return nil
	})
	return all, err
}
