package catalog

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Owner says whose releases lie in a repository: the address that its newest release is
// annotated with, or without releases the newest one that waits for approval. It is false
// if there is neither, or one without the annotation, as others than tofu-oci write them.
func Owner(ctx context.Context, repo repository.Reader) (a provider.Address, ok bool, err error) {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return provider.Address{}, false, err
	}
	var newest string
	if versions := artifact.TaggedVersions(tags); len(versions) > 0 {
		newest = artifact.Tag(versions[0])
	} else if pending := artifact.PendingVersions(tags); len(pending) > 0 {
		newest = artifact.PendingTag(pending[0])
	} else {
		return provider.Address{}, false, nil
	}
	i, err := repository.Inspect(ctx, repo, newest, repository.DepthIndex)
	if err != nil {
		return provider.Address{}, false, err
	}
	a, err = provider.ParseAddress(i.Index.Annotations[artifact.AnnotationProvider])
	return a, err == nil, nil
}
