package catalog

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Owner says whose releases lie in a repository: the address that its newest release is
// annotated with. It is false where the repository has no release, or one without the
// annotation, as others than tofu-oci write them.
func Owner(ctx context.Context, repo repository.Reader) (a provider.Address, ok bool, err error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return provider.Address{}, false, err
	}
	versions := artifact.TaggedVersions(tags)
	if len(versions) == 0 {
		return provider.Address{}, false, nil
	}
	i, err := repository.Inspect(ctx, repo, artifact.Tag(versions[0]), repository.DepthIndex)
	if err != nil {
		return provider.Address{}, false, err
	}
	a, err = provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	return a, err == nil, nil
}
