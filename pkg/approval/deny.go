package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// DenyOptions configures [Deny]. Reason is required.
type DenyOptions struct {
	// Reason explains the denial.
	Reason string
	// By names the person who made the decision. It can be empty.
	By string
	// Signer, if not nil, signs the record of the denial.
	Signer artifact.Signer
	// Aliases allows the repository to contain releases from other providers.
	Aliases provider.Aliases
	// Overwrite points the version's tag to [artifact.EmptyIndex] if the registry doesn't
	// delete tags.
	Overwrite bool
	// DryRun computes the result without writing anything.
	DryRun bool
	// copied, if not nil, is a denial from another repository. Deny then writes the
	// denial even if the version doesn't exist.
	copied *repository.DecisionRecord
}

// Deny writes the version's denial tag, and then deletes the version's tag and pending
// tag. Finally, it adds the denial to the referrers of the index (see
// [Result.RecordError]). As long as the repository has the denial tag, the version is
// denied regardless of its packages. The denial refers to the index. After the index
// has lost its last tag, a registry can garbage-collect the index, but not the denial.
//
// If the registry doesn't delete tags, Deny points the pending tag to the denial. It
// doesn't change the tag of the version unless Overwrite is set. See
// [Result.PendingTagError] and [Result.VersionTagError]. Deny keeps the tag of a pruned
// version, because OpenTofu ignores it. If the version is already denied, Deny keeps
// the existing denial unless a different release is pending. If it keeps the denial and
// the version has no tag, the status is [publish.Unchanged]. If the version is not
// pending, released, pruned, or denied, Deny returns [provider.ErrVersionNotFound]. It
// also returns [ErrIncomplete], *[repository.ConflictError], and errors from the
// repository.
func Deny(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o DenyOptions) (Result, error) {
	d := denying{decision{repo, a, v}, o}
	r, err := d.run(ctx)
	if err != nil {
		return r, fmt.Errorf("denying %s %s: %w", a, v, err)
	}
	return r, nil
}

type denying struct {
	decision
	options DenyOptions
}

func (d denying) run(ctx context.Context) (Result, error) {
	r := Result{Address: d.address, Version: d.version, Status: publish.Denied, Tag: artifact.DeniedTag(d.version)}
	denial := repository.NewDecision(d.repo, artifact.DecisionDeny, artifact.VerdictDeny, d.address, d.version)
	denial.Reason, denial.By = d.options.Reason, d.options.By
	if err := denial.Check(); err != nil {
		return r, err
	}
	// 1. Inspect the pending and the released version, and an existing denial.
	found, err := d.inspect(ctx)
	if err != nil {
		return r, err
	}
	// 2. Write the denial tag.
	var packed artifact.Referrer
	if before := found.existing; before != nil {
		r.Record, r.Digest = before, before.Digest
		if !found.version.Exists() {
			r.Status = publish.Unchanged
		}
	} else if packed, err = d.pack(denial, found.subject, &r); err != nil {
		return r, err
	}
	if d.options.DryRun {
		return r, nil
	}
	if found.isAbsent {
		if err := d.repo.PushManifest(ctx, artifact.Blob{Descriptor: found.subject.Descriptor, Bytes: found.subject.Bytes}); err != nil {
			return r, err
		}
	}
	record := found.record
	if found.existing == nil {
		if record, err = repository.TagDecision(ctx, d.repo, artifact.DeniedTag(d.version), packed); err != nil {
			return r, fmt.Errorf("writing the tag %s: %w", r.Tag, err)
		}
		r.Digest, r.Record.Digest = record.Descriptor.Digest, record.Descriptor.Digest
		// During this delay, every run that checked for a denial before the tag was
		// written finishes writing its own tag.
		if err := bounded.Pause(ctx, d.repo.Capabilities().ConfirmDelay); err != nil {
			return r, err
		}
	}
	// 3. Delete the tags that clients install, or leave them unchanged. If this step is
	// interrupted, the next run still finds the version's tag, which is deleted last.
	if d.address.IsModule() {
		r.VersionTagError, err = d.deleteLatest(ctx, found.version.Digest)
	}
	if err == nil && r.VersionTagError == nil {
		r.VersionTagError, err = d.unpublish(ctx)
	}
	// 4. Delete the pending tag, or point it to the denial.
	if err == nil && found.pending.Exists() {
		r.PendingTagError, err = d.unstage(ctx, record, found.pending)
	}
	// 5. Keep the denial, and add it to the referrers list. If this step fails, the
	// next run repeats it. The tags have been deleted already.
	if err == nil {
		r.RecordError = d.keep(ctx, record)
	}
	return r, err
}

// keep writes the denial tag again if it is missing, because some registries delete a
// manifest's referrers together with the manifest. It then adds the denial to the
// referrers list.
func (d denying) keep(ctx context.Context, record artifact.Blob) error {
	now, err := repository.Inspect(ctx, d.repo, artifact.DeniedTag(d.version), repository.DepthIndex)
	if err == nil && (!now.Exists() || now.Dangling) {
		err = d.repo.PushTag(ctx, record, now.Tag, now.Digest)
	}
	if err != nil {
		return err
	}
	return repository.ListReferrer(ctx, d.repo, record.Bytes)
}

// deniable describes the version to deny.
type deniable struct {
	// pending and version are the releases that the pending tag and the version's tag
	// point to. If a tag is missing, its release is the zero value.
	pending, version repository.Inspection
	// subject is the release that the denial refers to. If isAbsent is set, subject is
	// [artifact.EmptyIndex], which has not been pushed yet.
	subject  repository.Inspection
	isAbsent bool
	// existing is the earlier denial if Deny keeps it, or nil. record is the manifest
	// of existing.
	existing *repository.DecisionRecord
	record   artifact.Blob
}

// inspect inspects the tags. It returns an error if the version can't be denied because
// it doesn't exist, because its index is missing, or because it belongs to a different
// provider.
func (d denying) inspect(ctx context.Context) (f deniable, err error) {
	if f.pending, err = repository.Inspect(ctx, d.repo, artifact.PendingTag(d.version), repository.DepthManifests); err != nil {
		return f, err
	}
	if f.version, err = repository.Inspect(ctx, d.repo, artifact.Tag(d.version), repository.DepthManifests); err != nil {
		return f, err
	}
	// Check for a denial last, because another run writes its denial before it deletes
	// the tags.
	denied, err := asDenied(repository.CheckDenied(ctx, d.repo, d.version))
	if err != nil {
		return f, err
	}
	for _, i := range []*repository.Inspection{&f.pending, &f.version} {
		if i.IsDenial() {
			*i = repository.Inspection{}
		}
	}
	for _, i := range []repository.Inspection{f.version, f.pending} {
		if err := d.checkProvider(i, d.options.Aliases); err != nil {
			return f, err
		}
		if i.Exists() && !i.Dangling {
			f.subject = i
		}
	}
	if !f.pending.Exists() && !f.version.Exists() {
		if f.subject, err = d.inspectPruned(ctx); err != nil {
			return f, err
		}
	}
	isOther := f.pending.Exists() && (denied == nil || f.pending.Digest != denied.Record.Index)
	again := isOther || f.version.Exists() && denied != nil && denied.Record.Index == ""
	switch {
	case denied != nil && !again:
		var i repository.Inspection
		i, err = repository.Inspect(ctx, d.repo, denied.Record.Tag, repository.DepthIndex)
		f.existing, f.record = &denied.Record, artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}
		return f, err
	case f.subject.Exists():
	case f.pending.Exists() || f.version.Exists():
		return f, fmt.Errorf("%w: index %s is missing", ErrIncomplete, cmp.Or(f.pending.Digest, f.version.Digest))
	case d.options.copied != nil:
		empty, err := artifact.EmptyIndex(d.address, d.version)
		f.subject, f.isAbsent = repository.Inspection{Descriptor: empty.Descriptor, Bytes: empty.Bytes}, true
		return f, err
	default:
		return f, fmt.Errorf("%w: neither the tag %s nor the tag %s exists", provider.ErrVersionNotFound, artifact.Tag(d.version), artifact.PendingTag(d.version))
	}
	return f, nil
}

// inspectPruned inspects the pruned release. If the pruned release or its index doesn't
// exist, it returns the zero value.
func (d denying) inspectPruned(ctx context.Context) (repository.Inspection, error) {
	i, err := repository.Inspect(ctx, d.repo, artifact.PrunedTag(d.version), repository.DepthManifests)
	if err != nil || !i.Exists() || i.Dangling {
		return repository.Inspection{}, err
	}
	return i, d.checkProvider(i, d.options.Aliases)
}

// pack creates the denial and describes it in the result.
func (d denying) pack(denial artifact.Decision, subject repository.Inspection, r *Result) (artifact.Referrer, error) {
	r.Packages = subject.Packages(d.address, d.version)
	if denial.Packages = artifact.PackageDigests(r.Packages); len(r.Packages) == 0 && d.options.copied != nil {
		denial.Packages = d.options.copied.Packages
	}
	packed, err := denial.Pack(subject.Descriptor, d.options.Signer)
	r.Digest = packed.Manifest.Descriptor.Digest
	r.Record = &repository.DecisionRecord{Decision: denial, Repository: d.repo.String(), Tag: r.Tag, Digest: r.Digest, Index: subject.Digest}
	return packed, err
}

// unstage deletes the pending tag or, if that is not possible, points it to the denial.
func (d denying) unstage(ctx context.Context, record artifact.Blob, pending repository.Inspection) (tagErr, err error) {
	tagErr, err = d.deleteTag(ctx, pending, repository.Inspection{})
	if err != nil || tagErr == nil {
		return nil, err
	}
	if errors.Is(tagErr, repository.ErrTagMoved) {
		return tagErr, tagErr // another run staged a release, which needs a separate decision
	}
	err = d.repo.PushTag(ctx, record, pending.Tag, pending.Digest)
	if repository.IsPermanent(err) {
		return fmt.Errorf("%w: %w", ErrPendingKept, err), nil
	}
	return tagErr, err
}

// unpublish deletes the tag of the version. If the tag can't be deleted, tagErr is the
// reason.
func (d denying) unpublish(ctx context.Context) (tagErr, err error) {
	now, err := repository.Inspect(ctx, d.repo, artifact.Tag(d.version), repository.DepthIndex)
	if err != nil || !now.Exists() || now.IsDenial() {
		return nil, err
	}
	return d.remove(ctx, now)
}

// remove deletes a tag that clients install. If the registry doesn't delete tags,
// remove overwrites the tag only if Overwrite is set, because OpenTofu still selects an
// overwritten version and then fails.
func (d denying) remove(ctx context.Context, i repository.Inspection) (tagErr, err error) {
	tagErr, err = d.deleteTag(ctx, i, repository.Inspection{})
	if err != nil || !d.options.Overwrite || !errors.Is(tagErr, repository.ErrTagNotDeleted) {
		return tagErr, err
	}
	empty, err := artifact.EmptyIndex(d.address, d.version)
	if err == nil {
		_, err = repository.WriteTag(ctx, d.repo, empty, i.Tag, i.Digest)
	}
	if repository.IsPermanent(err) {
		return fmt.Errorf("%w: %w", tagErr, err), nil
	}
	return nil, err
}

// deleteLatest deletes a module's latest tag, which OpenTofu installs by default, if it
// points to the denied version.
func (d denying) deleteLatest(ctx context.Context, denied digest.Digest) (tagErr, err error) {
	i, err := repository.Inspect(ctx, d.repo, "latest", repository.DepthIndex)
	if err != nil || !i.Exists() || i.Digest != denied {
		return nil, err
	}
	return d.remove(ctx, i)
}
