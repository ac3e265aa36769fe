package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// maxRepositories limits the number of repositories that [ListMany] reads concurrently.
const maxRepositories = 8

// ManyOptions configures [PromoteMany]. Open and Done are required.
type ManyOptions struct {
	PromoteOptions
	// Latest is the maximum number of pending versions that are promoted per
	// requirement, starting with the newest. If zero, all matching versions are promoted.
	Latest int
	// Open returns the repository of a provider.
	Open func(a provider.Address) (repository.Repository, error)
	// Done is called with each decision, in the order of the requirements.
	Done func(Decision)
	// OnSkip, if not nil, is called with a provider's pending pre-releases that were
	// skipped. Pre-releases are skipped if Latest is zero and no requirement specifies
	// them exactly.
	OnSkip func(a provider.Address, preReleases []provider.Version)
}

// Decision is the outcome of promoting one version.
type Decision struct {
	Requirement provider.Requirement
	// Repository is the repository of the provider.
	Repository string
	// Version is the zero value if no version was selected. In that case, Err is the
	// reason.
	Version provider.Version
	Result  Result
	Err     error
}

// PromoteMany promotes the pending releases that requirements select. If a requirement
// specifies a pruned version exactly, and the version is neither pending nor released,
// PromoteMany restores it. A denied version is skipped and reported with status Denied,
// unless a requirement specifies it exactly. A failure does not affect other releases.
// PromoteMany returns an error if a repository cannot be opened, if a denial cannot be
// read, or if ctx is canceled.
func PromoteMany(ctx context.Context, wanted []provider.Requirement, o ManyOptions) error {
	pending := source.NewMemo(oci.NewPending(func(a provider.Address) (repository.Reader, error) { return o.Open(a) }, o.Aliases...), 0)
	for _, r := range wanted {
		repo, err := o.Open(r.Address)
		if err != nil {
			return err
		}
		versions, err := source.Resolve(ctx, pending, r, o.Latest)
		denied := source.Denied(ctx, pending, r, o.Latest, versions)
		if errors.Is(err, provider.ErrVersionNotFound) {
			if versions, err = pruned(ctx, repo, r); len(versions) == 0 && err == nil {
				err = noneSelected(ctx, pending, r, repo, denied)
			}
		}
		if err != nil {
			o.Done(Decision{Requirement: r, Repository: repo.String(), Err: err})
		}
		if err := o.reportSkipped(ctx, pending, r); err != nil {
			return err
		}
		for _, v := range denied {
			record, _, err := repository.ReadDenial(ctx, repo, v)
			if err != nil {
				return err
			}
			skipped := Result{Address: r.Address, Version: v, Status: publish.Denied, Tag: record.Tag, Digest: record.Digest, Record: &record}
			o.Done(Decision{Requirement: r, Repository: repo.String(), Version: v, Result: skipped})
		}
		for _, v := range versions {
			result, err := Promote(ctx, repo, r.Address, v, o.PromoteOptions)
			o.Done(Decision{r, repo.String(), v, result, err})
		}
	}
	return ctx.Err()
}

// pruned returns the version that a requirement specifies exactly if this version was
// pruned.
func pruned(ctx context.Context, repo repository.Repository, r provider.Requirement) ([]provider.Version, error) {
	v, exact := r.Constraint.Exact()
	if !exact {
		return nil, nil
	}
	tags, err := repo.Tags(ctx)
	if slices.Contains(artifact.Tags(tags).Pruned(), v) && !slices.Contains(tags, artifact.Tag(v)) {
		return []provider.Version{v}, nil
	}
	return nil, err
}

// noneSelected returns the error for a requirement that no pending version meets. If
// denied versions meet the requirement, it returns nil.
func noneSelected(ctx context.Context, pending provider.Source, r provider.Requirement, repo repository.Repository, denied []provider.Version) error {
	if len(denied) > 0 {
		return nil
	}
	versions, err := pending.Versions(ctx, r.Address)
	if err != nil {
		return err
	}
	if len(versions) == 0 {
		return fmt.Errorf("%w: %s contains no pending versions", ErrNotPending, repo)
	}
	return fmt.Errorf("%w in %s: %s", ErrNotPending, repo, provider.SomeVersions(versions))
}

// reportSkipped reports the pending pre-releases that a requirement does not select.
func (o ManyOptions) reportSkipped(ctx context.Context, pending provider.Source, r provider.Requirement) error {
	if _, exact := r.Constraint.Exact(); exact || o.Latest > 0 || o.OnSkip == nil {
		return nil
	}
	versions, err := pending.Versions(ctx, r.Address)
	if err == nil {
		o.OnSkip(r.Address, r.PreReleases(versions))
	}
	return ctx.Err() // other errors have already been reported
}

// Listed contains the pending, denied, and pruned versions of a provider.
type Listed struct {
	Address provider.Address
	Entries []Entry
	// Missing is the error for a missing repository, or nil if the repository exists.
	Missing error
}

// ListMany lists the pending, denied, and pruned versions that meet the requirements.
// See [List]. It returns the first error other than [repository.ErrNoRepository].
func ListMany(ctx context.Context, wanted []provider.Requirement, open func(provider.Address) (repository.Reader, error)) ([]Listed, error) {
	var addresses []provider.Address
	constraints := map[provider.Address][]provider.Constraint{}
	for _, r := range wanted {
		if constraints[r.Address] == nil {
			addresses = append(addresses, r.Address)
		}
		constraints[r.Address] = append(constraints[r.Address], r.Constraint)
	}
	lists := make([]Listed, len(addresses))
	err := schedule.All(ctx, maxRepositories, addresses, func(ctx context.Context, i int, a provider.Address) error {
		l := &lists[i]
		l.Address = a
		repo, err := open(a)
		if err == nil {
			l.Entries, err = List(ctx, repo, constraints[a]...)
		}
		if errors.Is(err, repository.ErrNoRepository) {
			l.Missing, err = err, nil
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", a, err)
		}
		return err
	})
	return lists, err
}
