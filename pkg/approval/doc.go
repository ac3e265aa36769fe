// Package approval promotes and denies staged releases. Package publish stores staged releases
// under a pending tag, which OpenTofu ignores. No server is required: anyone who can write the tags
// of the repository can decide.
//
//	stage   = source → Release → plan → OCI repository, under pending-VERSION          publish.Release
//	promote = pending-VERSION → the same index under VERSION                           Promote
//	deny    = VERSION or pending-VERSION → denied-VERSION, which refers to the index   Deny
//
// A pending release is complete: it has an index, manifests, and blobs, and its tag protects them
// from the garbage collection of the registry.
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
	// Status is Promoted, Extended, Replaced, or Denied, or Unchanged if the same decision was made
	// before. If the version has other content, the error is a *[repository.ConflictError].
	Status publish.Status
	// Tag and Digest are the tag and the index of the version, or the tag and the manifest of the
	// denial.
	Tag    string
	Digest digest.Digest
	// Packages are the packages of the release.
	Packages []provider.Package
	// Verdict is the result of Verify, or the zero value if Verify was not called.
	Verdict provider.Verdict
	// Record is the denial, or nil.
	Record *repository.DenialRecord
	// Approval is the approval that Promote recorded, or nil.
	Approval *artifact.Approval
	// From is the pending or pruned tag of a release that was promoted.
	From string
	// Stays is the reason why the pending or pruned tag still exists, or nil if it doesn't. It wraps
	// [repository.ErrTagNotDeleted] if the registry doesn't delete tags, and
	// [repository.ErrTagMoved] if another run has staged more packages.
	Stays error
	// Live is the reason why the tag of a denied version could not be deleted, or nil if it was
	// deleted. While the tag exists, OpenTofu can install the version. Live wraps the same errors
	// as Stays.
	Live error
}

// ErrNotPending is returned if there is no such pending release.
var ErrNotPending = provider.Errorf(provider.NotFound, "no such pending release")

// ErrIncomplete is returned if content of a pending or pruned release is missing or damaged.
// Staging or mirroring the release again repairs it.
var ErrIncomplete = provider.Errorf(provider.Refused, "the release is incomplete")

// decision identifies the release to decide about.
type decision struct {
	repo    repository.Repository
	address provider.Address
	version provider.Version
}

// notPending returns the error for a version without a pending release.
func (d decision) notPending() error {
	return fmt.Errorf("%w under the tag %s", ErrNotPending, artifact.PendingTag(d.version))
}

// conflict returns the error for a release that can't become the version.
func (d decision) conflict(reasons ...string) *repository.ConflictError {
	return &repository.ConflictError{Release: d.address.String() + " " + d.version.String(), Reasons: reasons}
}

// checkProvider returns a conflict if the release belongs to another provider.
func (d decision) checkProvider(i repository.Inspection, aliases provider.Aliases) error {
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](i.CheckProvider(d.address, aliases...))
	if !ok {
		return nil
	}
	err := d.conflict(foreign.Error())
	err.Mismatch = foreign
	return err
}

// packages returns the packages that an inspection has found.
func (d decision) packages(i repository.Inspection) []provider.Package {
	var all []provider.Package
	for _, platform := range i.Index.Platforms() {
		all = append(all, i.At(platform).Package(d.address, d.version))
	}
	return all
}

// deleteTag deletes the tag of an inspected release, see [repository.Untag]. If the tag could not be
// deleted, stays is the reason.
func (d decision) deleteTag(ctx context.Context, i, kept repository.Inspection) (stays, err error) {
	if !i.Exists() {
		return nil, nil
	}
	err = repository.Untag(ctx, d.repo, i.Tag, i.Digest, kept)
	if errors.Is(err, repository.ErrTagNotDeleted) || errors.Is(err, repository.ErrTagMoved) {
		return err, nil
	}
	return nil, err
}

// asDenied separates denials from other errors.
func asDenied(err error) (*repository.DeniedError, error) {
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		return denied, nil
	}
	return nil, err
}
