package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Withdraw denies a version in repo because the repository that it was copied from, or
// a declaration, denies the version. record is the original denial. The new denial has
// the same reason and person. If repo doesn't have the version, Withdraw still writes a
// denial from another repository, so that no later run adds the version. If nothing had
// to be written, denied is nil.
//
// If the tag of the version can't be deleted, the error wraps
// [repository.ErrTagNotDeleted], because clients can still install the version. Withdraw
// also returns the errors of [Deny].
func Withdraw(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, record repository.DecisionRecord, o DenyOptions) (denied *repository.DecisionRecord, err error) {
	o.Reason, o.By = record.Reason, record.By
	if record.Tag != "" {
		o.copied = &record
	}
	r, err := Deny(ctx, repo, a, v, o)
	switch {
	case errors.Is(err, provider.ErrVersionNotFound), err == nil && r.Status == publish.Unchanged:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("version is denied in %s, but denying it in %s failed: %w", record.Repository, repo, err)
	case r.VersionTagError != nil:
		return r.Record, fmt.Errorf("version is denied in %s, but its tag %s still exists in %s: %w", record.Repository, artifact.Tag(v), repo, r.VersionTagError)
	case r.RecordError != nil:
		return r.Record, fmt.Errorf("version is denied in %s and in %s, but its history in %s lacks the denial: %w", record.Repository, repo, repo, r.RecordError)
	}
	return r.Record, nil
}
