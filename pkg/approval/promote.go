package approval

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// PromoteOptions of [Promote]; the zero value judges nothing.
type PromoteOptions struct {
	// Judge says what the signature of the release proves, by the evidence that lies
	// beside it, before its tag is written: what was right when it was staged may not
	// be any more. Its error ends the run. nil judges nothing; trust.Policy has such a
	// method.
	Judge func(ctx context.Context, r provider.Release) (provider.Verdict, error)
	// Approval records who decided, and why. Unless it is the zero value, it is attached to
	// the index of the release, even if the version is already released.
	Approval artifact.Approval
	// Aliases are the providers whose releases the repository may have instead.
	Aliases provider.Aliases
	// Force replaces a version that holds something else, promotes a denied version, and
	// removes the denial.
	Force bool
	// DryRun compares and judges, and writes nothing.
	DryRun bool
}

// Promote lets the version's tag name the index that waits for it, and then removes
// the pending tag: no blob and no manifest moves, and the digest stays. A run that was
// cut off between the two is completed by the next one. What is promoted already is
// [Unchanged]. Errors are [ErrNotPending], [ErrIncomplete], *[repository.DeniedError],
// *[repository.ConflictError], those of Judge, and the repository's.
func Promote(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o PromoteOptions) (Result, error) {
	p := promotion{decision{repo, a, v}, o}
	r, err := p.run(ctx)
	if err != nil {
		return r, fmt.Errorf("promoting %s %s: %w", a, v, err)
	}
	return r, nil
}

type promotion struct {
	decision
	options PromoteOptions
}

func (p promotion) run(ctx context.Context) (Result, error) {
	r := Result{Address: p.address, Version: p.version, Tag: artifact.Tag(p.version)}
	// 1. The denial, the pending release, and the released one.
	denied, err := deniedBy(repository.CheckDenied(ctx, p.repo, p.version))
	if err == nil && denied != nil && !p.options.Force {
		err = denied
	}
	if err != nil {
		return r, err
	}
	if denied != nil {
		r.Record = &denied.Record
	}
	standing, err := repository.Inspect(ctx, p.repo, r.Tag, repository.DepthManifests)
	if err != nil {
		return r, err
	}
	// 2. Whether the version may become that, or is it already.
	waiting, err := p.waiting(ctx)
	if errors.Is(err, ErrNotPending) && standing.Exists() && p.own(standing, p.options.Aliases) == nil {
		r.Status, r.Packages, err = publish.Unchanged, p.packages(standing), nil
	} else if err == nil {
		r.Packages, r.Digest = p.packages(waiting), waiting.Digest
		r.Status, err = p.decide(ctx, waiting, standing)
	}
	if err != nil {
		return r, err
	}
	if r.Status == publish.Unchanged {
		r.Digest = standing.Digest
		if err := p.record(ctx, &r, standing); err != nil {
			return r, err
		}
		return p.tidy(ctx, r, waiting, standing)
	}
	// 3. Its signature, and whether that does.
	release, err := oci.FromInspection(ctx, p.repo, waiting, p.address, p.version, waiting.Index.Platforms())
	if err != nil {
		return r, err
	}
	if p.options.Judge != nil {
		if r.Verdict, err = p.options.Judge(ctx, release); err != nil {
			return r, err
		}
	}
	if err := p.record(ctx, &r, waiting); err != nil || p.options.DryRun {
		return r, err
	}
	// 4. Write the version's tag, unless it was denied in the meantime, then delete the pending one.
	if denied == nil {
		if err := repository.CheckDeniedNow(ctx, p.repo, p.version); err != nil {
			return r, err
		}
	}
	if err := p.tag(ctx, waiting, standing); err != nil {
		return r, err
	}
	return p.tidy(ctx, r, waiting, waiting)
}

// record attaches the approval to an index. It runs before the version's tag is written.
func (p promotion) record(ctx context.Context, r *Result, i repository.Inspection) error {
	if p.options.Approval == (artifact.Approval{}) {
		return nil
	}
	document, err := p.options.Approval.Document()
	if err != nil {
		return err
	}
	r.Approval = &p.options.Approval
	if p.options.DryRun {
		return nil
	}
	if _, err := repository.Attach(ctx, p.repo, []provider.Document{document}, i.Descriptor); err != nil {
		return fmt.Errorf("recording the approval: %w", err)
	}
	return nil
}

// waiting looks at what waits for approval, and refuses what is not whole.
func (p promotion) waiting(ctx context.Context) (repository.Inspection, error) {
	i, err := repository.Inspect(ctx, p.repo, artifact.PendingTag(p.version), repository.DepthBlobs)
	if err != nil {
		return i, err
	}
	if !i.Exists() || i.IsDenial() {
		return repository.Inspection{Tag: i.Tag}, p.nothing()
	}
	if i.Dangling {
		return i, fmt.Errorf("%w: its index %s is lost", ErrIncomplete, i.Digest)
	}
	if err := p.own(i, p.options.Aliases); err != nil {
		return i, err
	}
	for _, platform := range i.Index.Platforms() {
		if f := i.At(platform); f.Err != nil {
			return i, fmt.Errorf("%w: the manifest for %s: %w", ErrIncomplete, platform, f.Err)
		} else if !f.IsIntact() {
			return i, fmt.Errorf("%w: %s lacks %s", ErrIncomplete, platform, f.Missing[0])
		}
	}
	return i, nil
}

// decide returns what promoting does to the version, or why it is refused.
func (p promotion) decide(ctx context.Context, waiting, standing repository.Inspection) (publish.Status, error) {
	status, conflicts := compare(waiting, standing)
	if status == publish.Unchanged || p.options.Force {
		return status, nil
	}
	if standing.Exists() && standing.Format == nil {
		if err := p.own(standing, p.options.Aliases); err != nil {
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

// tag writes the version's tag, and reads it back.
func (p promotion) tag(ctx context.Context, waiting, standing repository.Inspection) error {
	if err := p.repo.PushTag(ctx, indexOf(waiting), artifact.Tag(p.version), standing.Digest); err != nil {
		return err
	}
	now, err := repository.ReadBack(ctx, p.repo, artifact.Tag(p.version))
	if err == nil && now.Digest != waiting.Digest {
		err = fmt.Errorf("reading the tag back: %w", repository.ErrTagMoved)
	}
	return err
}

// tidy deletes the pending tag, and the tag of an overruled denial; version is the index
// that the version's tag points to.
func (p promotion) tidy(ctx context.Context, r Result, waiting, version repository.Inspection) (Result, error) {
	if p.options.DryRun || !waiting.Exists() && r.Record == nil {
		return r, nil
	}
	var err error
	if r.Stays, err = p.untag(ctx, waiting.Tag, waiting.Digest); err != nil {
		return r, err
	}
	if r.Record != nil {
		if err := r.Record.Remove(ctx, p.repo); err != nil {
			return r, err
		}
	}
	if p.repo.Traits().AtomicTags {
		return r, nil
	}
	// There are registries that delete a manifest, with all its tags, when one of them
	// is deleted.
	now, err := repository.Inspect(ctx, p.repo, r.Tag, repository.DepthIndex)
	if err == nil && (now.Dangling || !now.Exists()) {
		err = p.repo.PushTag(ctx, indexOf(version), r.Tag, now.Digest)
	}
	return r, err
}

func indexOf(i repository.Inspection) artifact.Blob {
	return artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}
}

// compare says what it means for a version to become what waits, by the tag alone:
// what the version holds has to be there too. The reasons are those why it can't be,
// none when it can.
func compare(waiting, standing repository.Inspection) (publish.Status, []string) {
	switch {
	case !standing.Exists() || standing.Dangling:
		return publish.Promoted, nil
	case standing.Digest == waiting.Digest:
		return publish.Unchanged, nil
	case standing.Format != nil:
		return publish.Replaced, []string{(&repository.ProviderMismatchError{Tag: standing.Tag, Format: standing.Format}).Error()}
	}
	d := repository.Compare(waiting, standing)
	switch {
	case len(d.Conflicts) == 0 && !d.Gains && !d.Documents:
		return publish.Unchanged, nil // the version holds all that waits
	case len(d.Conflicts) > 0 || len(d.Loses) > 0:
		return publish.Replaced, d.Reasons()
	}
	return publish.Extended, nil
}
