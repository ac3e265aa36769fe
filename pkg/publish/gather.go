package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// question is what is to be published, and where.
type question struct {
	*Publisher
	src     provider.Source
	can     provider.Capabilities
	repo    repository.Repository
	address provider.Address
	version provider.Version
	options Options
}

// tag is the one that is written.
func (q *question) tag() string {
	if q.options.Stage {
		return artifact.PendingTag(q.version)
	}
	return artifact.Tag(q.version)
}

// part is a part of the facts, which is gathered when a plan needs it.
type part int

const (
	needNothing   part = iota
	needDenial         // whether the version is denied, and the list of tags
	needIndex          // what the tag names, and whose it is
	needPlatforms      // those that are wanted, as deep as Check says
	needRelease        // the source's
	needOverlap        // the stored platforms that the release has too
	needAll            // everything that is stored, with its documents
	needEvidence       // the documents of what is unchanged, to be judged again
	needReferrers      // the source's documents about all platforms
)

// gather adds the part that a plan needs. Nothing is read before it is needed.
func (q *question) gather(ctx context.Context, f *facts, needs part) (err error) {
	f.known[needs] = true
	switch needs {
	case needDenial:
		err = q.readDenial(ctx, f)
	case needIndex:
		err = q.readIndex(ctx, f)
	case needPlatforms:
		err = q.readPlatforms(ctx, f)
	case needRelease:
		err = q.readRelease(ctx, f)
	case needOverlap:
		f.stored, err = f.stored.Deeper(ctx, q.repo, max(q.options.depth(), repository.DepthBlobs), f.release.Platforms()...)
	case needAll:
		err = q.readAll(ctx, f)
	case needEvidence:
		err = q.readEvidence(ctx, f)
	case needReferrers:
		if q.can.Documents != nil {
			f.documents, err = q.can.Documents(ctx, f.release)
		}
	}
	return err
}

// readDenial reads the denial of the version. A repository without a list of tags is most
// likely a new one, and apply checks again.
func (q *question) readDenial(ctx context.Context, f *facts) (err error) {
	f.tags, err = q.repo.Tags(ctx)
	if errors.Is(err, repository.ErrNoRepository) || errors.Is(err, repository.ErrNotFound) {
		return nil
	}
	unlisted := err
	err = repository.CheckDenied(ctx, q.repo, q.version)
	if denied, ok := errors.AsType[*repository.DeniedError](err); ok {
		f.denial = &denied.Record
		return nil
	}
	if err == nil && q.policy().listed {
		err = unlisted
	}
	return err
}

// readIndex reads what the tag names, and looks whose the repository is when a tag is
// about to be made.
func (q *question) readIndex(ctx context.Context, f *facts) (err error) {
	f.stored, err = repository.Inspect(ctx, q.repo, f.tag, repository.DepthIndex)
	if f.from = f.stored.Digest; err == nil && q.options.Stage {
		var released repository.Inspection
		released, err = repository.Inspect(ctx, q.repo, artifact.Tag(q.version), repository.DepthIndex)
		f.stored = baseOf(f.stored, released)
	}
	if err != nil {
		return err
	}
	if f.foreign = foreign(f.stored, q.address, q.options.Aliases...); f.stored.Exists() || q.options.Force || errors.Is(f.stored.Absent, repository.ErrNoRepository) {
		return nil
	}
	err = q.memory.checkOwner(ctx, q.repo, q.address, q.options.Aliases)
	if other, ok := errors.AsType[*repository.ForeignError](err); ok {
		f.foreign, err = other, nil
	}
	return err
}

// readPlatforms finds out which platforms are wanted, and looks at them if the index has
// all. A source of published releases is taken at its word that a version does not change:
// digests are read only for Recheck and Force. No platforms mean that only the release can
// tell, as where evidence may come after the zips.
func (q *question) readPlatforms(ctx context.Context, f *facts) (err error) {
	wanted := q.options.Platforms
	switch {
	case !q.can.Published:
		return nil
	case q.can.Platforms != nil && !q.options.Recheck && !q.options.Force:
		if len(wanted) == 0 {
			wanted, err = q.can.Platforms(ctx, q.address, q.version)
		}
	case q.can.Digests == nil:
		return nil
	default:
		f.digests, err = q.can.Digests(ctx, q.address, q.version)
		if f.digests == nil {
			return err
		}
		if len(wanted) == 0 {
			wanted = slices.Collect(maps.Keys(f.digests))
		}
	}
	if err != nil || slices.ContainsFunc(wanted, f.stored.Lacks) {
		return err
	}
	f.wanted = provider.SortPlatforms(wanted)
	if len(wanted) > 0 {
		f.stored, err = f.stored.Deeper(ctx, q.repo, q.options.depth(), wanted...)
	}
	return err
}

// readRelease asks the source, once in a run.
func (q *question) readRelease(ctx context.Context, f *facts) error {
	r, err := q.src.Release(ctx, q.address, q.version, q.options.Platforms...)
	if err != nil {
		return err
	}
	if f.release, err = q.announceEvidence(ctx, r); err != nil || q.can.Documents == nil {
		return err
	}
	f.known[needReferrers] = true
	f.documents, err = q.can.Documents(ctx, f.release)
	return err
}

// readEvidence reads the documents of what is unchanged.
func (q *question) readEvidence(ctx context.Context, f *facts) (err error) {
	same := f.unchanged()
	if f.stored, err = f.stored.Deeper(ctx, q.repo, repository.DepthManifests, same...); err != nil {
		return err
	}
	f.kept, err = oci.FromInspection(ctx, q.repo, f.stored, q.address, q.version, same)
	return err
}

// readAll looks at all that the tag holds, and asks the source for what of it
// is damaged and was not asked for: the tag is written whole or not at all.
func (q *question) readAll(ctx context.Context, f *facts) (err error) {
	if f.stored, err = f.stored.Deeper(ctx, q.repo, max(q.options.depth(), repository.DepthBlobs)); err != nil {
		return err
	}
	whole, damaged := f.sort(q.repo)
	if len(damaged) > 0 {
		fresh, err := q.src.Release(ctx, q.address, q.version, damaged...)
		if _, lacking := errors.AsType[*provider.PlatformError](err); lacking {
			f.lost, err = damaged, nil
		}
		if err != nil {
			return fmt.Errorf("restoring what the repository has lost of %s: %w", damaged[0], err)
		}
		f.restored = fresh.Packages
	}
	if len(whole) == 0 {
		return nil
	}
	f.kept, err = oci.FromInspection(ctx, q.repo, f.stored, q.address, q.version, whole)
	if err != nil {
		return &provider.Error{Doing: "reading", Address: q.address, Version: q.version, Err: err}
	}
	f.resigned = q.signedByUs(f.kept)
	return nil
}
