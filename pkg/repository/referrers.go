package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNoReferrersList is returned for registries, such as GitLab's, that resolve a tag
// "sha256-HEX" to the manifest with that digest. A referrers list under that tag
// would replace the artifact itself, so no list is written.
var ErrNoReferrersList = provider.Errorf(provider.Refused, "registry resolves the referrers tag to the artifact itself, so it cannot store a referrers list")

// referrers contains the referrers of a manifest. They come from the referrers API. If
// the repository doesn't have this API, they come from the referrers tag and, in image
// layouts, from manifests without a tag. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers.
type referrers struct {
	entries []ocispec.Descriptor
	// byAPI reports whether the registry maintains the list itself.
	byAPI bool
	// list is the content of the referrers tag, or the zero value if the tag doesn't
	// exist.
	list artifact.Blob
	// untagged reports whether entries contains referrers that are not in list.
	untagged bool
}

func readReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	if ask := repo.Capabilities().Referrers; ask != nil {
		entries, supported, err := ask(ctx, subject)
		if supported || err != nil {
			return referrers{entries: entries, byAPI: true}, err
		}
	}
	known, err := taggedReferrers(ctx, repo, subject)
	if list := repo.Capabilities().UntaggedReferrers; list != nil && err == nil {
		var untagged []ocispec.Descriptor
		untagged, err = list(ctx, subject)
		for _, d := range untagged {
			if !known.has(d.Digest) {
				known.entries, known.untagged = append(known.entries, d), true
			}
		}
	}
	return known, err
}

// taggedReferrers returns the referrers in the list under the referrers tag.
func taggedReferrers(ctx context.Context, repo Reader, subject digest.Digest) (referrers, error) {
	d, data, err := repo.Manifest(ctx, artifact.ReferrersTag(subject))
	if exists, err := isFound(err); !exists {
		return referrers{}, err
	}
	if d.Digest == subject {
		return referrers{}, ErrNoReferrersList
	}
	entries, err := artifact.ParseReferrers(data)
	list := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: d.Digest, Size: int64(len(data))}
	return referrers{entries: entries, list: artifact.Blob{Descriptor: list, Bytes: data}}, err
}

// listReferrers returns the referrers of a manifest. If the registry can't store referrers
// lists, it returns none. If the list is invalid, it returns none, and invalid contains the
// reason.
func listReferrers(ctx context.Context, repo Reader, subject digest.Digest) (found referrers, invalid []error, err error) {
	found, err = readReferrers(ctx, repo, subject)
	switch {
	case errors.Is(err, ErrNoReferrersList):
		return referrers{}, nil, nil
	case isFormat(err):
		return referrers{}, []error{err}, nil
	case err != nil:
		return referrers{}, nil, fmt.Errorf("listing the referrers of %s: %w", subject, err)
	}
	return found, nil, nil
}

// titleOf returns a referrer's title. If the title is missing, it returns the type or,
// if the type is missing, too, the digest.
func titleOf(d ocispec.Descriptor) string {
	return cmp.Or(d.Annotations[ocispec.AnnotationTitle], d.ArtifactType, d.Digest.String())
}

func byDigest(a, b ocispec.Descriptor) int { return cmp.Compare(a.Digest, b.Digest) }

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// hasManifest reports whether the manifest of an entry exists. Cleanup jobs might have
// deleted manifests that have no tag.
func hasManifest(ctx context.Context, repo Reader, d ocispec.Descriptor) (bool, error) {
	_, _, err := repo.Manifest(ctx, d.Digest.String())
	return isFound(err)
}

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
	settled := l.repo.Capabilities().AtomicTags
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
			settled = l.repo.Capabilities().AtomicTags
		case settled:
			return nil
		default:
			if err := bounded.Pause(ctx, l.repo.Capabilities().ConfirmDelay); err != nil {
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
// returns it unchanged. Otherwise, the list contains the missing entries and the known
// entries whose manifests exist, because registries reject an index that refers to missing
// manifests.
func (l referrersList) next(ctx context.Context, entries, missing []ocispec.Descriptor, known referrers) (artifact.Blob, error) {
	isNew := func(d ocispec.Descriptor) bool { return !referrers{entries: entries}.has(d.Digest) }
	if l.original.Bytes != nil && !slices.ContainsFunc(known.entries, isNew) {
		return l.original, nil
	}
	var existing []ocispec.Descriptor
	for _, d := range known.entries {
		exists, err := hasManifest(ctx, l.repo, d)
		if err != nil {
			return artifact.Blob{}, err
		}
		if exists {
			existing = append(existing, d)
		}
	}
	return artifact.AddReferrer(existing, missing...)
}

func (l referrers) has(d digest.Digest) bool {
	return slices.ContainsFunc(l.entries, func(e ocispec.Descriptor) bool { return e.Digest == d })
}
