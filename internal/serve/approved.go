package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// withApproval returns the addresses of a release whose rules require approval. The rule
// for the address under which the release is stored also applies, because clients choose
// the address in a request. Trust files don't apply to modules.
func (rc *repositoryCache) withApproval(q query, stored provider.Address) (all []provider.Address) {
	for _, a := range []provider.Address{q.address, stored} {
		if !q.isModule() && a.Host != "" && !slices.Contains(all, a) && rc.options.Approval.RequiresApproval(a) {
			all = append(all, a)
		}
	}
	return all
}

// checkApproved returns an error if the release requires approval but has not been
// approved. The result is cached as long as a tag list.
func (rc *repositoryCache) checkApproved(ctx context.Context, q query, i index) error {
	addresses := rc.withApproval(q, i.stored)
	if len(addresses) == 0 {
		return nil
	}
	policy := rc.options.Approval
	policy.Decisions = func(ctx context.Context, r provider.Release) ([]artifact.SignedDecision, error) {
		return repository.DecisionsAbout(ctx, i.repo, r, i.Digest, i.stored)
	}
	problem, _, err := rc.approvals.get(ctx, i.key(q, provider.Platform{}), func(ctx context.Context) (string, error) {
		// The annotations of the index don't prove which zips the release contains.
		found, err := i.InspectMore(ctx, i.repo, repository.DepthManifests)
		for _, a := range addresses {
			if err == nil {
				err = policy.CheckApproval(ctx, provider.Release{Address: a, Version: i.version, Packages: found.Packages(a, i.version)})
			}
		}
		if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
			return refused.Error(), nil
		}
		return "", err
	})
	if err == nil && problem != "" {
		err = withCause(errors.New(problem), http.StatusForbidden, problem)
	}
	return err
}

// approved returns the versions that can be served. If approval is required, it omits
// unapproved versions, and versions whose approval or index can't be read.
func (rc *repositoryCache) approved(ctx context.Context, q query, known listing) ([]provider.Version, error) {
	if len(rc.withApproval(q, known.stored)) == 0 {
		return known.versions, nil
	}
	isRefused := make([]bool, len(known.versions))
	err := schedule.All(ctx, maxConcurrentReleases, known.versions, func(ctx context.Context, n int, v provider.Version) error {
		i, _, err := rc.release(ctx, q, known, v, rc.indexes.maxAge)
		isRefused[n] = err != nil || rc.checkApproved(ctx, q, i) != nil
		return ctx.Err()
	})
	var approved []provider.Version
	for n, v := range known.versions {
		if !isRefused[n] {
			approved = append(approved, v)
		}
	}
	return approved, err
}
