package publish

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// base is what a release that is staged is added to: what waits, if it holds all that
// the version holds and more, else the version itself. So what is promoted already is
// found there, and what waits can always become the version by its tag alone.
func (p publisher) base(ctx context.Context, pending repository.Inspection) (repository.Inspection, error) {
	version, err := repository.Inspect(ctx, p.repo, artifact.Tag(p.version), repository.DepthIndex)
	if err != nil {
		return pending, err
	}
	record, err := approval.RecordOf(ctx, p.repo, pending)
	switch {
	case err != nil:
		return pending, err
	case version.Exists() && !adds(pending, version):
		return version, nil
	case record != nil:
		return repository.Inspection{Tag: pending.Tag, Absent: repository.ErrNotFound}, nil
	}
	return pending, nil
}

// adds tells whether what waits holds all that a version holds, and more.
func adds(pending, version repository.Inspection) bool {
	if !pending.Exists() || pending.Lost || pending.Format != nil || version.Lost || version.Format != nil {
		return false
	}
	for _, t := range version.Index.Targets {
		other, there := pending.Index.Target(t.Platform)
		was, known := t.Digest()
		is, stated := other.Digest()
		if !there || t.Descriptor.Digest != other.Descriptor.Digest && (!known || !stated || was != is) {
			return false
		}
	}
	return len(pending.Index.Targets) > len(version.Index.Targets)
}

// denied gives the denial of a release that is staged, unless it waits all the same or
// is forced.
func (p publisher) denied(ctx context.Context, old repository.Inspection, r provider.Release) (*approval.Record, error) {
	if !p.options.Stage || p.options.Force || old.Exists() && old.Tag == p.tag() {
		return nil, nil
	}
	record, err := approval.Recorded(ctx, p.repo, p.version)
	if err != nil || record == nil || !record.Covers(r.Packages) {
		return nil, err
	}
	return record, nil
}

// checkDenied refuses to make the tag of a version that was denied, unless by force.
func (p publisher) checkDenied(ctx context.Context, old repository.Inspection) error {
	if p.options.Stage || p.options.Force || old.Exists() || errors.Is(old.Absent, repository.ErrNoRepository) {
		return nil
	}
	return checkDenied(ctx, p.repo, p.version)
}

// checkDenied gives the *[approval.DeniedError] of a version that was denied, whatever
// its zips are. The list of tags tells, which the run has: it was asked for whose the
// repository is. Where the login may not list tags, the one that matters is asked for.
func checkDenied(ctx context.Context, repo repository.Repository, v provider.Version) error {
	tags, err := repo.Tags(ctx)
	switch {
	case errors.Is(err, repository.ErrNoRepository), errors.Is(err, repository.ErrNotFound):
		return nil
	case err != nil && !errors.Is(err, provider.ErrDenied):
		return err
	case err == nil && !slices.Contains(tags, artifact.DeniedTag(v)):
		return nil
	}
	tag, err := repository.Inspect(ctx, repo, artifact.DeniedTag(v), repository.DepthIndex)
	if err != nil {
		return err
	}
	record, err := approval.RecordOf(ctx, repo, tag)
	if err != nil || record == nil {
		return err
	}
	return &approval.DeniedError{Record: *record}
}

// denied is the outcome of a round that found a denial.
func (done outcome) denied() outcome {
	if record := done.result.Denial; record != nil {
		done.result.Status, done.result.Tag, done.result.Digest = Denied, record.Tag, record.Digest
	}
	return done
}
