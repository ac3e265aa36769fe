package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// checkApproved returns an error if the release requires approval but has not been
// approved. The result is cached like a tag list.
func (rc *repositoryCache) checkApproved(ctx context.Context, q providerQuery, i index) error {
	policy := rc.options.Approval
	if !policy.RequiresApproval(q.address) {
		return nil
	}
	policy.Decisions = func(ctx context.Context, r provider.Release) ([]artifact.SignedDecision, error) {
		return repository.DecisionsAbout(ctx, i.repo, r, i.Digest)
	}
	problem, _, err := rc.approvals.get(ctx, i.key(q, provider.Platform{}), func(ctx context.Context) (string, error) {
		// The annotations of the index don't prove which zips the release contains.
		found, err := i.InspectMore(ctx, i.repo, repository.DepthManifests)
		if err == nil {
			err = policy.CheckApproval(ctx, provider.Release{Address: q.address, Version: i.version, Packages: found.Packages(q.address, i.version)})
		}
		if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
			return refused.Error(), nil
		}
		return "", err
	})
	if err == nil && problem != "" {
		err = because(errors.New(problem), http.StatusForbidden, problem)
	}
	return err
}

// approved returns the versions that can be served. If approval is required, it omits
// unapproved versions, and versions whose approval or index can't be read.
func (rc *repositoryCache) approved(ctx context.Context, q providerQuery, known listing) ([]provider.Version, error) {
	if !rc.options.Approval.RequiresApproval(q.address) {
		return known.versions, nil
	}
	var mu sync.Mutex
	var found []provider.Version
	err := schedule.All(ctx, maxConcurrentReleases, known.versions, func(ctx context.Context, _ int, v provider.Version) error {
		i, _, err := rc.release(ctx, q, known.candidate, v, rc.indexes.maxAge)
		if err == nil {
			err = rc.checkApproved(ctx, q, i)
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			found = append(found, v)
		}
		return ctx.Err()
	})
	return slices.DeleteFunc(slices.Clone(known.versions), func(v provider.Version) bool { return !slices.Contains(found, v) }), err
}
