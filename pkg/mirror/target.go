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

// target is where the releases of a provider go.
type target struct {
	repo    repository.Repository
	options publish.Options
	err     error
	// tags lists those of the repository, once in a run.
	tags func(ctx context.Context) ([]string, error)
}

// newTargets asks where each provider goes, and refuses a repository for two: at the same
// time, each would take the other's tags for its own.
func newTargets(wanted []provider.Requirement, o Options) (map[provider.Address]target, error) {
	targets, repositories := map[provider.Address]target{}, map[provider.Address]string{}
	for _, r := range wanted {
		a := r.Address
		if _, known := targets[a]; known {
			continue
		}
		var t target
		t.repo, t.options, t.err = o.Target(a)
		if t.err == nil {
			repositories[a] = t.repo.String()
		}
		t.tags = func(ctx context.Context) ([]string, error) {
			if t.repo == nil {
				return nil, nil
			}
			return o.Publisher.Tags(ctx, t.repo)
		}
		targets[a] = t
	}
	return targets, template.CheckDistinct(repositories)
}

// denied returns the versions that the target denies; none if its tags can't be listed.
func (t target) denied(ctx context.Context) ([]provider.Version, error) {
	if t.tags == nil {
		return nil, nil
	}
	tags, err := t.tags(ctx)
	if errors.Is(err, provider.ErrDenied) || errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		err = nil
	}
	return artifact.Tags(tags).Denied(), err
}

// has reports whether a version is there, as far as the list of tags tells. What can't
// be told is not.
func (t target) has(ctx context.Context, v provider.Version) bool {
	if t.err != nil || t.tags == nil {
		return false
	}
	tags, err := t.tags(ctx)
	return err == nil && slices.Contains(tags, artifact.Tag(v))
}
