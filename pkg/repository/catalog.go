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

// ErrNoCatalog reports that a registry does not list its repositories: it has no such API,
// or does not permit it for these credentials.
var ErrNoCatalog = provider.Errorf(provider.Refused, "the registry does not list its repositories")

// Catalog lists the names of all repositories of a registry, by /v2/_catalog, which
// not all registries have, and few show to everybody: then the error is
// [ErrNoCatalog]. At names one of its repositories, whose login is used; it need not
// exist.
// https://distribution.github.io/distribution/spec/api/#listing-repositories
func Catalog(ctx context.Context, at template.Reference, o Options) (names []string, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, err
	}
	login := &credentialState{}
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
	translated := login.translate(err)
	answer, refused := errors.AsType[*ResponseError](translated)
	isNone := refused && slices.Contains(unsupportedStatuses, answer.Status)
	for _, none := range []error{provider.ErrDenied, ErrNotFound, ErrPage} {
		isNone = isNone || errors.Is(translated, none)
	}
	if isNone {
		translated = fmt.Errorf("%w: %w", ErrNoCatalog, translated)
	}
	return nil, &Error{Op: "listing the repositories of", Registry: at.Registry, Err: translated}
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
