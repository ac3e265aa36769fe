package catalog

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Owner returns the provider of a repository: the address in the annotation of its newest
// release or, without releases, of its newest pending one. ok is false if there is neither,
// or if it has no annotation, as when another tool has written it.
func Owner(ctx context.Context, repo repository.Reader) (a provider.Address, ok bool, err error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return provider.Address{}, false, err
	}
	versions, tag := artifact.Newest(tags)
	if len(versions) == 0 {
		return provider.Address{}, false, nil
	}
	i, err := repository.Inspect(ctx, repo, tag(versions[0]), repository.DepthIndex)
	if err != nil {
		return provider.Address{}, false, err
	}
	a, err = provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	return a, err == nil, nil
}
