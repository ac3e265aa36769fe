package publish

import (
	"context"
	"errors"

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
	switch {
	case version.Exists() && !adds(pending, version):
		return version, nil
	case pending.IsDenial():
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

// overruling implements Force for denials.
type overruling struct {
	force  bool
	denial *repository.DenialRecord
}

// begin returns a *[repository.DeniedError] for a denied version, unless force is set. A
// repository without a list of tags is most likely a new one, and admit checks again.
func (o *overruling) begin(ctx context.Context, repo repository.Reader, v provider.Version) error {
	if _, err := repo.Tags(ctx); errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return nil
	}
	err := repository.CheckDenied(ctx, repo, v)
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok && o.force {
		o.denial = &denied.Record
		return nil
	}
	return err
}

// admit checks again, before a tag is written, whether the version has been denied in
// the meantime. Force overrules only a denial that existed at the beginning.
func (o *overruling) admit(ctx context.Context, repo repository.Reader, v provider.Version) error {
	if o.denial != nil {
		return nil
	}
	return repository.CheckDeniedNow(ctx, repo, v)
}

// end removes an overruled denial after the version's tag was written.
func (o *overruling) end(ctx context.Context, repo repository.Repository) error {
	if o.denial == nil {
		return nil
	}
	return repository.RemoveDenial(ctx, repo, *o.denial)
}
