package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// PromoteOptions configures [Promote]. The zero value is valid and verifies no signatures.
type PromoteOptions struct {
	// Verify, if not nil, verifies the release's signature with the stored documents
	// before the tag is written. This is necessary because a key that was trusted when
	// the release was staged might not be trusted now. If Verify returns an error,
	// Promote fails with this error. You can use a method of trust.Policy.
	Verify func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Gates decide whether the release can be tagged. If a gate holds the release, the
	// release stays pending, and Promote returns a *[publish.HeldError]. Gates don't
	// run in a dry run.
	Gates publish.Gates
	// Reason and By record why and by whom the release was approved. Signer signs the
	// record. If any of these fields is set, the decision is recorded, even if the
	// version is already released. See [repository.Record].
	Reason, By string
	Signer     artifact.Signer
	// Aliases allows the repository to contain releases from other providers.
	Aliases provider.Aliases
	// Force replaces the version even if its content differs. It also promotes a denied
	// version and removes the denial. The override is always recorded.
	Force bool
	// DryRun computes the result without writing anything.
	DryRun bool
}

// Promote points the tag of the version to the pending index, and then deletes the
// pending tag. It transfers neither blobs nor manifests, and the digest stays the same.
// Running Promote again completes an interrupted run. If the version is already
// promoted, the status is [publish.Unchanged], and no gates run. If the version was pruned
// and is neither pending nor released, Promote restores it from [artifact.PrunedTag].
// Promote returns [ErrNotPending], [ErrNothingToPromote], [ErrIncomplete],
// *[repository.DeniedError], *[repository.ConflictError], errors from Verify, and errors
// from the repository.
func Promote(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o PromoteOptions) (Result, error) {
	p := promotion{decision{repo, a, v}, publish.ActionPromote, o}
	r, err := p.run(ctx)
	if err != nil {
		return r, fmt.Errorf("promoting %s %s: %w", a, v, err)
	}
	return r, nil
}

// Restore moves a pruned release back to the tag of its version, even if a different
// release is pending. action is the action for the gates, such as [publish.ActionMirror].
// If the tag of the version exists, Restore only deletes the pruned tag. Running Restore
// again completes an interrupted run, except in registries that delete a manifest together
// with all its tags. See [repository.Prune]. It returns the same errors as [Promote].
func Restore(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, action string, o PromoteOptions) (Result, error) {
	p := promotion{decision{repo, a, v}, action, o}
	r, err := p.run(ctx)
	if err != nil {
		return r, fmt.Errorf("restoring %s %s: %w", a, v, err)
	}
	return r, nil
}

type promotion struct {
	decision
	// action is the action for the gates. Unless it is [publish.ActionPromote], a pruned
	// release is restored.
	action  string
	options PromoteOptions
}

func (p promotion) restores() bool { return p.action != publish.ActionPromote }

func (p promotion) run(ctx context.Context) (Result, error) {
	r := Result{Address: p.address, Version: p.version, Tag: artifact.Tag(p.version)}
	// 1. Inspect the denial and the released version.
	denied, err := asDenied(repository.CheckDenied(ctx, p.repo, p.version))
	if err == nil && denied != nil && !p.options.Force {
		err = denied
	}
	if err != nil {
		return r, err
	}
	if denied != nil {
		r.Record = &denied.Record
	}
	version, err := repository.Inspect(ctx, p.repo, r.Tag, repository.DepthManifests)
	if err != nil {
		return r, err
	}
	// 2. Inspect the pending release, and decide whether it can become the version.
	pending, err := p.inspectPending(ctx, version)
	isReleased := version.Exists() && !version.Dangling && !version.IsDenial()
	switch {
	case p.restores() && isReleased && (err == nil || errors.Is(err, ErrNotPending) || errors.Is(err, ErrIncomplete)):
		r.Status, r.Packages, err = publish.Unchanged, version.Packages(p.address, p.version), nil
	case errors.Is(err, ErrNotPending) && isReleased && p.checkProvider(version, p.options.Aliases) == nil:
		r.Status, r.Packages, err = publish.Unchanged, version.Packages(p.address, p.version), nil
	case errors.Is(err, ErrNotPending) && denied != nil:
		err = ErrNothingToPromote
	case err == nil:
		r.Packages, r.Digest = pending.Packages(p.address, p.version), pending.Digest
		r.Status, err = p.decide(ctx, pending, version)
	}
	if err != nil {
		return r, err
	}
	promoted := pending
	if r.Status == publish.Unchanged {
		promoted, r.Digest = version, version.Digest
	}
	if r.Status == publish.Unchanged && r.Record == nil {
		if err := p.record(ctx, &r, version); err != nil {
			return r, err
		}
		return p.deletePending(ctx, r, pending, version)
	}
	// 3. Verify the signature, and write the tag. The same steps apply if the version has
	// its tag and only its denial is deleted, because this also releases the version.
	release, err := p.verify(ctx, &r, promoted)
	if err != nil {
		return r, err
	}
	if p.options.DryRun {
		err := p.record(ctx, &r, promoted)
		return r, err
	}
	return p.commit(ctx, r, release, promoted, version)
}

// commit writes the tag of the version. Then it deletes the pending, pruned, or denial
// tag that the new tag replaces.
func (p promotion) commit(ctx context.Context, r Result, release provider.Release, pending, version repository.Inspection) (Result, error) {
	done, err := publish.Commit(ctx, p.repo, publish.Candidate{
		Action: p.action, Release: release, Index: indexOf(pending), Existing: version, Denial: r.Record, AllowPending: true,
		Gates: p.options.Gates, Signature: r.Verdict, Signer: p.options.Signer,
	}, func(ctx context.Context) (repository.Inspection, error) {
		if err := p.record(ctx, &r, pending); err != nil {
			return repository.Inspection{}, err
		}
		if err := p.forgetPruning(ctx, pending); err != nil || r.Status == publish.Unchanged {
			return version, err
		}
		return repository.WriteTag(ctx, p.repo, indexOf(pending), r.Tag, version.Digest)
	})
	if err == nil && done.Held != nil {
		err = done.Held
	}
	if err != nil {
		return r, err
	}
	if r.PendingTagError = done.PendingTagError; r.Status != publish.Unchanged {
		r.From = pending.Tag
	}
	if _, pruned := artifact.ParsePruned(pending.Tag); pruned {
		if r.PendingTagError, err = p.deleteTag(ctx, pending, done.Now); err == nil {
			err = p.confirm(ctx, pending, done.Now)
		}
	}
	return r, err
}

// confirm writes the tag of a restored version again if the tag is missing. Another run
// that still found the version pruned might have deleted the index.
func (p promotion) confirm(ctx context.Context, pruned, version repository.Inspection) error {
	if p.repo.Capabilities().AtomicTags {
		return nil
	}
	if err := bounded.Pause(ctx, p.repo.Capabilities().ConfirmDelay); err != nil {
		return err
	}
	_, err := p.deleteTag(ctx, pruned, version)
	return err
}

// verify returns the release under a tag after verifying its signature.
func (p promotion) verify(ctx context.Context, r *Result, i repository.Inspection) (release provider.Release, err error) {
	if p.restores() && p.options.Verify == nil && p.options.Gates == nil {
		return provider.Release{Address: p.address, Version: p.version, Packages: i.Packages(p.address, p.version)}, nil
	}
	release, err = oci.FromInspection(ctx, p.repo, i, p.address, p.version, i.Index.Platforms())
	if err == nil && p.options.Verify != nil {
		r.Verdict, err = p.options.Verify(ctx, release)
	}
	return release, err
}

// record records the approval of an index before the tag of the version is written.
func (p promotion) record(ctx context.Context, r *Result, i repository.Inspection) error {
	o := p.options
	requested := o.Reason != "" || o.By != "" || o.Signer != nil
	d := repository.NewDecision(p.repo, artifact.DecisionPromote, artifact.VerdictAllow, p.address, p.version)
	d.Reason, d.By, d.Index, d.Packages = o.Reason, o.By, i.Digest, artifact.PackageDigests(r.Packages)
	switch {
	case r.Status == publish.Replaced || r.Record != nil:
		d.Kind = artifact.DecisionForce
	case !requested:
		return nil
	}
	err := d.Check()
	if err == nil && !o.DryRun {
		err = repository.Record(ctx, p.repo, d, i.Descriptor, o.Signer)
	}
	if errors.Is(err, repository.ErrNoReferrersList) && !requested {
		return nil
	}
	if err != nil {
		return fmt.Errorf("recording the approval: %w", err)
	}
	r.Approval = &d
	return nil
}

// inspectPending inspects the pending release. If neither a pending nor a released
// version exists, or if a pruned release is restored, it inspects the pruned release. It
// returns an error if the release is incomplete.
func (p promotion) inspectPending(ctx context.Context, version repository.Inspection) (i repository.Inspection, err error) {
	if !p.restores() {
		if i, err = p.inspectRelease(ctx, artifact.PendingTag(p.version)); version.Exists() && !version.IsDenial() || !errors.Is(err, ErrNotPending) {
			return i, err
		}
	}
	pruned, failed := p.inspectRelease(ctx, artifact.PrunedTag(p.version))
	if errors.Is(failed, ErrNotPending) && !p.restores() {
		return i, err
	}
	return pruned, failed
}

// forgetPruning removes a pruned version's dates from the sync record, so that the
// version is not immediately pruned again.
func (p promotion) forgetPruning(ctx context.Context, i repository.Inspection) error {
	if _, pruned := artifact.ParsePruned(i.Tag); !pruned {
		return nil
	}
	return repository.WriteSyncRecord(ctx, p.repo, func(r *artifact.SyncRecord) {
		delete(r.Unwanted, p.version)
		delete(r.Pruned, p.version)
	})
}

func (p promotion) inspectRelease(ctx context.Context, tag string) (repository.Inspection, error) {
	i, err := repository.Inspect(ctx, p.repo, tag, repository.DepthBlobs)
	if err != nil {
		return i, err
	}
	if !i.Exists() || i.IsDenial() {
		return repository.Inspection{Tag: i.Tag}, p.notPending()
	}
	if i.Dangling {
		return i, fmt.Errorf("%w: index %s is missing", ErrIncomplete, i.Digest)
	}
	if err := p.checkProvider(i, p.options.Aliases); err != nil {
		return i, err
	}
	for _, platform := range i.Index.Platforms() {
		if f := i.At(platform); f.Err != nil {
			return i, fmt.Errorf("%w: the manifest for %s: %w", ErrIncomplete, platform, f.Err)
		} else if !f.IsIntact() {
			return i, fmt.Errorf("%w: a blob of the package for %s is missing or damaged: %s", ErrIncomplete, platform, f.Missing[0])
		}
	}
	return i, nil
}

// decide returns the status of the version after promotion, or an error if the release
// can't be promoted.
func (p promotion) decide(ctx context.Context, pending, version repository.Inspection) (publish.Status, error) {
	status, conflicts := compare(pending, version)
	if status == publish.Unchanged || p.options.Force {
		return status, nil
	}
	if version.Exists() && version.CheckFormat(p.address) == nil {
		if err := p.checkProvider(version, p.options.Aliases); err != nil {
			return status, err
		}
	} else if err := repository.CheckOwner(ctx, p.repo, p.address, p.options.Aliases...); err != nil {
		return status, err
	}
	if len(conflicts) > 0 {
		return status, p.conflict(conflicts...)
	}
	return status, nil
}

// deletePending deletes the pending tag. version is the inspection of the version's tag.
func (p promotion) deletePending(ctx context.Context, r Result, pending, version repository.Inspection) (_ Result, err error) {
	if p.options.DryRun || !pending.Exists() {
		return r, nil
	}
	version.Tag, r.From = r.Tag, pending.Tag
	r.PendingTagError, err = p.deleteTag(ctx, pending, version)
	return r, err
}

func indexOf(i repository.Inspection) artifact.Blob {
	return artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}
}

// compare returns the status after the promotion of a pending release. The pending
// release must contain all content of the released version. If it does not, the reasons
// list the differences that prevent the promotion.
func compare(pending, version repository.Inspection) (publish.Status, []string) {
	switch {
	case !version.Exists() || version.Dangling || version.IsDenial():
		return publish.Promoted, nil
	case version.Digest == pending.Digest:
		return publish.Unchanged, nil
	case version.Format != nil && (!version.Module || !pending.Module):
		return publish.Replaced, []string{(&repository.ProviderMismatchError{Tag: version.Tag, Format: version.Format}).Error()}
	}
	d := repository.Compare(pending, version)
	switch {
	case len(d.Conflicts) == 0 && !d.Gains && !d.Documents:
		return publish.Unchanged, nil // the version already contains the pending release
	case len(d.Conflicts) > 0 || len(d.Loses) > 0:
		return publish.Replaced, d.Reasons()
	}
	return publish.Extended, nil
}
