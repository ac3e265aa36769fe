package publish

import (
	"cmp"
	"context"
	"maps"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// settle judges what the tag was read back as, and looks once more where jobs
// that publish other platforms may be at work: where releases come from local
// builds or are narrowed to some platforms, and the repository does not move tags
// in one step. writing is how long that took here: another job may take twice as
// long between its look and its write.
func (p publisher) settle(ctx context.Context, result Result, now repository.Inspection, writing time.Duration) (repository.Inspection, error) {
	if err := ours(now, result); err != nil {
		return now, err
	}
	if p.alone() {
		return now, nil
	}
	if err := bounded.Pause(ctx, max(p.settling(), 2*writing)); err != nil {
		return now, err
	}
	now, err := repository.ReadBack(ctx, p.repo, result.Tag)
	if err != nil {
		return now, err
	}
	return now, ours(now, result)
}

// alone tells that no other run can overwrite what this one does to the tag: it
// publishes all that there is, or tags move in one step.
func (p publisher) alone() bool {
	return p.can.Published && len(p.options.Platforms) == 0 || p.repo.Traits().AtomicTags
}

func (p publisher) settling() time.Duration { return cmp.Or(p.options.Settle, DefaultSettle) }

// ours compares the tag with what this run made of it. Another run that has moved
// it since may have taken our packages in; else they are merged again.
func ours(now repository.Inspection, result Result) error {
	if now.Digest == result.Digest {
		return nil
	}
	for _, done := range result.Packages {
		t, there := now.Index.Target(done.Package.Platform)
		if d, known := t.Digest(); !there || !known || d != done.Package.Digest {
			return repository.ErrTagMoved
		}
	}
	return nil
}

// artifactOptions keeps what is annotated already, unless it is to be different.
func (p publisher) artifactOptions(old repository.Inspection, s Status) artifact.Options {
	o := artifact.Options{SourceURL: p.options.SourceURL, Annotations: map[string]string{}}
	if p.foreign(old) == nil {
		o.Provider = old.Index.Annotations[artifact.AnnotationProvider]
		maps.Copy(o.Annotations, old.Index.Annotations)
		if s == Replaced {
			delete(o.Annotations, ocispec.AnnotationCreated) // it was of other bytes
		}
		o.SourceURL = cmp.Or(o.SourceURL, old.Index.Annotations[ocispec.AnnotationSource])
	}
	maps.Copy(o.Annotations, p.options.Annotations)
	return o
}
