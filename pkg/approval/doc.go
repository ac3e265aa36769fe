// Package approval promotes and denies staged releases, which package publish stores
// under a pending tag that OpenTofu ignores. No server is required, so anyone who can
// write the repository's tags can make the decision.
//
//	stage   = source → Release → plan → OCI repository, under pending-VERSION          publish.Release
//	promote = pending-VERSION → the same index under VERSION                           Promote
//	deny    = VERSION or pending-VERSION → denied-VERSION, which refers to the index   Deny
//
// A pending release is complete: it has an index, manifests, and blobs. Its tag
// protects this content from the registry's garbage collection.
package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Result is the outcome of a decision about a release.
type Result struct {
	Address provider.Address
	Version provider.Version
	// Status is Promoted, Extended, Replaced, or Denied. If the same decision was made
	// before, Status is Unchanged. If the version has different content, the error is a
	// *[repository.ConflictError].
	Status publish.Status
	// Tag and Digest identify the version's tag and index. For a denial, they identify
	// the denial tag and its manifest.
	Tag    string
	Digest digest.Digest
	// Packages contains the packages of the release.
	Packages []provider.Package
	// Verdict is the result of Verify, or the zero value if Verify was not called.
	Verdict provider.Verdict
	// Record is the denial, or nil.
	Record *repository.DecisionRecord
	// Approval is the approval that Promote recorded, or nil.
	Approval *artifact.Decision
	// From is the pending or pruned tag from which the release was promoted.
	From string
	// PendingTagError is the reason the pending or pruned tag still exists, or nil if
	// the tag doesn't exist. It wraps [repository.ErrTagNotDeleted] if the registry
	// doesn't delete tags, and [repository.ErrTagMoved] if another run has staged more
	// packages. It wraps [ErrPendingKept] if the pending tag of a denied version still
	// points to the release.
	PendingTagError error
	// VersionTagError is the reason the tag of a denied version could not be deleted,
	// or nil if the tag was deleted. As long as the tag exists, OpenTofu can install
	// the version. VersionTagError wraps the same errors as PendingTagError.
	VersionTagError error
	// RecordError is the reason a denial might not be in the index's referrers list, or
	// nil. The version's tags were deleted in any case. Denying the version again adds the
	// denial to the list.
	RecordError error
}

// ErrNotPending is returned if the pending release doesn't exist.
var ErrNotPending = provider.Errorf(provider.NotFound, "no such pending release")

// ErrNothingToPromote is returned if a denied version is neither pending, released, nor
// pruned. To revoke the denial, mirror the version again.
var ErrNothingToPromote = provider.Errorf(provider.NotFound, "the version is denied, and no tag is left to promote")

// ErrIncomplete is returned if content of a pending or pruned release is missing or
// damaged. To repair the release, stage or mirror it again.
var ErrIncomplete = provider.Errorf(provider.Refused, "the release is incomplete")

// ErrPendingKept reports that the pending tag of a denied version still points to the
// release, because the registry neither deletes nor moves the tag. OpenTofu ignores the
// tag, and the release can't be promoted, because its version is denied.
var ErrPendingKept = provider.Errorf(provider.Refused, "the registry neither deletes nor moves the tag")

// decision identifies the release to promote or deny.
type decision struct {
	repo    repository.Repository
	address provider.Address
	version provider.Version
}

// notPending returns the error for a version without a pending release.
func (d decision) notPending() error {
	return fmt.Errorf("%w: the tag %s does not exist", ErrNotPending, artifact.PendingTag(d.version))
}

// conflict returns an error with the reasons against the decision.
func (d decision) conflict(reasons ...string) *repository.ConflictError {
	return &repository.ConflictError{Release: d.address.String() + " " + d.version.String(), Reasons: reasons}
}

// checkProvider returns a conflict if the release belongs to a different provider.
func (d decision) checkProvider(i repository.Inspection, aliases provider.Aliases) error {
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](i.CheckProvider(d.address, aliases...))
	if !ok {
		return nil
	}
	err := d.conflict(foreign.Error())
	err.Mismatch = foreign
	return err
}

// deleteTag deletes the tag of an inspected release. See [repository.Untag]. If the tag
// could not be deleted, tagErr is the reason.
func (d decision) deleteTag(ctx context.Context, i, kept repository.Inspection) (tagErr, err error) {
	if !i.Exists() {
		return nil, nil
	}
	err = repository.Untag(ctx, d.repo, i.Tag, i.Digest, kept)
	if errors.Is(err, repository.ErrTagNotDeleted) || errors.Is(err, repository.ErrTagMoved) {
		return err, nil
	}
	return nil, err
}

// asDenied returns a denial as the first result, and any other error as the second.
func asDenied(err error) (*repository.DeniedError, error) {
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		return denied, nil
	}
	return nil, err
}
