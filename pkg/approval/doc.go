// Package approval decides about releases that were staged: publish puts them under
// a pending tag, which OpenTofu does not see, and here they are promoted to their
// version, or denied. No server is needed for it: who may write to the repository's
// tags may decide.
//
//	stage   = source → Release → plan → OCI repository, under pending-VERSION     publish.Release
//	promote = pending-VERSION → the same index under VERSION                      Promote
//	deny    = VERSION or pending-VERSION → denied-VERSION, which refers to the index   Deny
//
// A pending release is as whole as any other: index, manifests and blobs are there,
// and a tag keeps them from a registry's garbage collection.
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

// Result says what was decided about a release.
type Result struct {
	Address provider.Address
	Version provider.Version
	// Status is Promoted, Extended, Replaced or Denied, or Unchanged if it was decided before.
	// A version that holds something else is a *[repository.ConflictError].
	Status publish.Status
	// Tag and Digest are the version's and its index's, or those of the denial.
	Tag    string
	Digest digest.Digest
	// Packages are those of the release.
	Packages []provider.Package
	// Verdict is what Judge said; none where it was not asked.
	Verdict provider.Verdict
	// Record is the denial, where there is one.
	Record *repository.DenialRecord
	// Approval is the approval that Promote recorded, if any.
	Approval *artifact.Approval
	// Stays says why the pending tag is still there; nil when it is not. It wraps
	// [repository.ErrTagNotDeleted] where the registry removes no tags, and
	// [repository.ErrTagMoved] where another run has staged more meanwhile.
	Stays error
	// Live is the reason why the tag of a denied version could not be deleted; a plain tofu
	// init can then still install the version. It wraps the same errors as Stays. It is
	// nil if the tag was deleted.
	Live error
}

// ErrNotPending says that no such release waits for approval.
var ErrNotPending = provider.Errorf(provider.NotFound, "no such release waits for approval")

// ErrIncomplete says that something of a pending release is missing or damaged:
// staging it again mends it.
var ErrIncomplete = provider.Errorf(provider.Refused, "the pending release is not whole")

// decision is what a flow works on.
type decision struct {
	repo    repository.Repository
	address provider.Address
	version provider.Version
}

// nothing is the error when nothing waits.
func (d decision) nothing() error {
	return fmt.Errorf("%w under the tag %s", ErrNotPending, artifact.PendingTag(d.version))
}

// conflict says why what waits, or what is there, can't be what the version is to be.
func (d decision) conflict(reasons ...string) *repository.ConflictError {
	return &repository.ConflictError{Release: d.address.String() + " " + d.version.String(), Reasons: reasons}
}

// own refuses what is no release of the provider.
func (d decision) own(i repository.Inspection, aliases provider.Aliases) error {
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](i.CheckProvider(d.address, aliases...))
	if !ok {
		return nil
	}
	err := d.conflict(foreign.Error())
	err.Mismatch = foreign
	return err
}

// packages describes what an inspection has found.
func packages(i repository.Inspection, a provider.Address, v provider.Version) []provider.Package {
	var all []provider.Package
	for _, platform := range i.Index.Platforms() {
		all = append(all, i.At(platform).Package(a, v))
	}
	return all
}

func (d decision) packages(i repository.Inspection) []provider.Package {
	return packages(i, d.address, d.version)
}

// untag removes a tag that is at was, where the registry lets it go; stays says why it
// is still there.
func (d decision) untag(ctx context.Context, tag string, was digest.Digest) (stays, err error) {
	untag := d.repo.Traits().DeleteTag
	switch {
	case was == "":
		return nil, nil
	case untag == nil:
		return repository.ErrTagNotDeleted, nil
	}
	err = untag(ctx, tag, was)
	if errors.Is(err, repository.ErrTagNotDeleted) || errors.Is(err, repository.ErrTagMoved) {
		return err, nil
	}
	return nil, err
}

// deniedBy separates a denial from other errors.
func deniedBy(err error) (*repository.DeniedError, error) {
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		return denied, nil
	}
	return nil, err
}
