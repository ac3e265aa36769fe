package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxMerges is the maximum number of attempts to merge a referrers list that other
// runs write concurrently.
const maxMerges = 20

// referrersList is a referrers list under a tag.
type referrersList struct {
	repo    Repository
	subject digest.Digest
	// original, unless zero, is written unchanged if it contains all known entries.
	original artifact.Blob
}

// add adds entries to the list and reads the list back, because another run might have
// written the list concurrently. If the repository doesn't write tags atomically, add
// reads the list again after a delay.
func (l referrersList) add(ctx context.Context, entries []ocispec.Descriptor, known referrers) error {
	settled := l.repo.Traits().AtomicTags
	for range maxMerges {
		missing := slices.DeleteFunc(slices.Clone(entries), func(e ocispec.Descriptor) bool { return known.has(e.Digest) })
		switch {
		case len(missing) > 0:
			next, err := l.next(ctx, entries, missing, known)
			if err != nil {
				return err
			}
			err = l.repo.PushTag(ctx, next, artifact.ReferrersTag(l.subject), known.list.Descriptor.Digest)
			if err != nil && !errors.Is(err, ErrTagMoved) {
				return err
			}
			settled = l.repo.Traits().AtomicTags
		case settled:
			return nil
		default:
			if err := bounded.Pause(ctx, l.repo.Traits().ConfirmDelay); err != nil {
				return err
			}
			settled = true
		}
		var err error
		if known, err = readReferrers(ctx, l.repo, l.subject); err != nil {
			return err
		}
	}
	return fmt.Errorf("updating the referrers list: %w (%d attempts)", ErrTagMoved, maxMerges)
}

// ListReferrer adds a stored manifest to the referrers list of its subject, unless the
// registry maintains the list itself or can't store one. If the list already contains the
// manifest, or the manifest has no subject, ListReferrer does nothing.
func ListReferrer(ctx context.Context, repo Repository, manifest []byte) error {
	entry, subject := artifact.DescribeReferrer(manifest)
	if subject == "" {
		return nil
	}
	known, err := readReferrers(ctx, repo, subject)
	if err == nil && !known.byAPI {
		err = referrersList{repo: repo, subject: subject}.add(ctx, []ocispec.Descriptor{entry}, known)
	}
	if errors.Is(err, ErrNoReferrersList) {
		return nil
	}
	return err
}

// next returns the list to write. If the original list contains all known entries, next
// returns it unchanged. Otherwise, the list contains the known and the missing entries.
func (l referrersList) next(ctx context.Context, entries, missing []ocispec.Descriptor, known referrers) (artifact.Blob, error) {
	isNew := func(d ocispec.Descriptor) bool { return !referrers{entries: entries}.has(d.Digest) }
	if l.original.Bytes != nil && !slices.ContainsFunc(known.entries, isNew) {
		return l.original, nil
	}
	return known.with(ctx, l.repo, missing)
}

// with returns the list with more entries, but without entries whose manifests are
// missing, because registries reject an index that refers to missing manifests.
func (l referrers) with(ctx context.Context, repo Reader, entries []ocispec.Descriptor) (artifact.Blob, error) {
	var alive []ocispec.Descriptor
	for _, d := range l.entries {
		exists, err := hasManifest(ctx, repo, d)
		if err != nil {
			return artifact.Blob{}, err
		}
		if exists {
			alive = append(alive, d)
		}
	}
	return artifact.AddReferrer(alive, entries...)
}

func (l referrers) has(d digest.Digest) bool {
	return slices.ContainsFunc(l.entries, func(e ocispec.Descriptor) bool { return e.Digest == d })
}

// untaggedReferrers implements [Traits.UntaggedReferrers]. It skips missing and damaged
// manifests, because their subject is unknown.
func (l *layout) untaggedReferrers(ctx context.Context, subject digest.Digest) ([]ocispec.Descriptor, error) {
	index, err := l.readIndex(ctx)
	if err != nil {
		_, err = isFound(err)
		return nil, err
	}
	var found []ocispec.Descriptor
	for _, entry := range index.Manifests {
		if known, isKnown := l.subjects.Load(entry.Digest); entry.Annotations[ocispec.AnnotationRefName] != "" || isKnown && known != subject {
			continue
		}
		_, data, err := l.manifestOf(ctx, entry)
		if _, damaged := errors.AsType[*sums.MismatchError](err); damaged || isFormat(err) || errors.Is(err, ErrNotFound) || entry.Digest.Validate() != nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing the referrers of %s in %s: %w", subject, l, err)
		}
		referrer, refersTo := artifact.DescribeReferrer(data)
		l.subjects.Store(entry.Digest, refersTo)
		if refersTo != subject {
			continue
		}
		if found = append(found, referrer); len(found) > maxReferrers {
			return nil, fmt.Errorf("listing the referrers of %s in %s: list exceeds %d referrers", subject, l, maxReferrers)
		}
	}
	return found, nil
}
