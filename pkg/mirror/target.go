package mirror

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// target is the repository for a provider's releases.
type target struct {
	repo    repository.Repository
	options publish.Options
	err     error
	// isModule reports whether the repository is for a module.
	isModule bool
	// tags returns the tags of the repository. They are listed once per run.
	tags func(ctx context.Context) ([]string, error)
}

// newTargets opens the target of each provider. It returns an error if two providers
// share a repository, because they would overwrite each other's tags.
func newTargets(wanted []provider.Requirement, o Options) (map[provider.Address]target, error) {
	targets, repositories := map[provider.Address]target{}, map[provider.Address]string{}
	for _, r := range wanted {
		a := r.Address
		if _, known := targets[a]; known {
			continue
		}
		t := target{isModule: a.IsModule()}
		t.repo, t.options, t.err = o.Target(a)
		if t.err == nil {
			repositories[a] = t.repo.String()
		}
		t.tags = func(ctx context.Context) ([]string, error) {
			if t.repo == nil {
				return nil, nil
			}
			return o.Publisher.Reader(t.repo).Tags(ctx)
		}
		targets[a] = t
	}
	return targets, template.CheckDistinct(repositories)
}

// denied returns the versions that the target denies. If the repository doesn't exist or
// access to it is denied, it returns no versions.
func (t target) denied(ctx context.Context) ([]provider.Version, error) {
	if t.tags == nil {
		return nil, nil
	}
	tags, err := t.tags(ctx)
	if errors.Is(err, provider.ErrForbidden) || errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		err = nil
	}
	return artifact.Tags(tags).Denied(), err
}

// has reports whether the target's tag list contains a version.
func (t target) has(ctx context.Context, v provider.Version) bool {
	if t.err != nil || t.tags == nil {
		return false
	}
	tags, err := t.tags(ctx)
	if t.isModule {
		tags = artifact.ModuleTags(tags)
	}
	return err == nil && slices.Contains(tags, artifact.Tag(v))
}
