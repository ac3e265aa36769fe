package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrInUse is returned if a manifest is not deleted because another tag points to it.
var ErrInUse = provider.Errorf(provider.Refused, "manifest is in use")

// errManifestNotDeleted is [ErrTagNotDeleted] for manifests.
var errManifestNotDeleted = text.WithText(ErrTagNotDeleted, "registry does not delete manifests")

// maxOtherTags is the maximum number of tags that [DeletePruned] reads to find out
// whether they point to the index. It doesn't read tags of other versions.
const maxOtherTags = 1000

// Prune moves the index of a version from its tag to [artifact.PrunedTag], which
// OpenTofu ignores. It returns the digest of the index. approval.Restore moves the
// index back. Prune writes the pruned tag and reads it back before it deletes the tag
// of the version, so an interrupted run loses nothing. Running Prune again completes
// the interrupted run. However, some registries delete a manifest together with all its
// tags. Prune then writes the pruned tag again. If the run is killed before that, or
// the registry keeps failing, neither tag remains.
//
// If was is not empty, the tag of the version must point to this digest. If another run
// moves the tag, Prune keeps the version and returns [ErrTagMoved]. If neither tag
// exists, Prune returns [provider.ErrVersionNotFound]. If the index is missing, it
// returns a *[DanglingTagError]. If the registry doesn't delete the tag of the version,
// Prune keeps the version and returns [ErrTagNotDeleted]. It also returns errors from
// the repository.
func Prune(ctx context.Context, repo Repository, v provider.Version, was digest.Digest) (digest.Digest, error) {
	index, err := moveTag(ctx, repo, artifact.Tag(v), artifact.PrunedTag(v), was)
	if err != nil {
		err = fmt.Errorf("pruning %s in %s: %w", v, repo, err)
	}
	return index, err
}

// moveTag moves an index from one tag to another. If only to exists, an earlier run has
// already moved the index. If was is not empty, the existing tag must point to was.
func moveTag(ctx context.Context, repo Repository, from, to string, was digest.Digest) (digest.Digest, error) {
	// 1. Inspect both tags.
	index, err := Inspect(ctx, repo, from, DepthIndex)
	if err != nil {
		return "", err
	}
	target, err := Inspect(ctx, repo, to, DepthIndex)
	switch {
	case err != nil:
		return "", err
	case !index.Exists() && !target.Exists():
		return "", fmt.Errorf("%w: neither the tag %s nor the tag %s exists", provider.ErrVersionNotFound, from, to)
	case index.Dangling:
		return "", &DanglingTagError{Tag: from, Index: ocispec.Descriptor{Digest: index.Digest}, Err: ErrNotFound}
	case !index.Exists() && target.Dangling:
		return "", &DanglingTagError{Tag: to, Index: ocispec.Descriptor{Digest: target.Digest}, Err: ErrNotFound}
	case !index.Exists():
		return target.Digest, nil
	case index.Format != nil && !index.Module:
		return "", index.Format
	case was != "" && index.Digest != was:
		return "", fmt.Errorf("tag %s: %w", from, ErrTagMoved)
	}
	// 2. Write the target tag, and check that the repository has stored it.
	if target.Digest != index.Digest || target.Dangling {
		target, err = WriteTag(ctx, repo, artifact.Blob{Descriptor: index.Descriptor, Bytes: index.Bytes}, to, target.Digest)
	} else {
		err = checkManifests(ctx, repo, index) // Untag might need to push the index again
	}
	if err != nil {
		return "", err
	}
	// 3. Delete the source tag.
	err = Untag(ctx, repo, from, index.Digest, target)
	if errors.Is(err, ErrTagMoved) {
		_ = deleteTag(ctx, repo, to, index.Digest) // ignore the error: a version with both tags is not pruned
	}
	return index.Digest, err
}

// checkManifests returns an error if the manifest for a platform is missing or damaged.
func checkManifests(ctx context.Context, repo Reader, index Inspection) error {
	found, err := index.InspectMore(ctx, repo, DepthManifests)
	for _, p := range index.Index.Platforms() {
		if err == nil && found.At(p).Err != nil {
			err = fmt.Errorf("reading the manifest for %s: %w", p, found.At(p).Err)
		}
	}
	return err
}

// Untag deletes a tag if it still points to was. If kept has a tag, Untag then writes
// this tag again if it is missing, because some registries delete a manifest with all
// its tags. Untag returns [ErrTagNotDeleted], [ErrTagMoved], and errors from the
// repository.
func Untag(ctx context.Context, repo Repository, tag string, was digest.Digest, kept Inspection) error {
	if err := deleteTag(ctx, repo, tag, was); err != nil || kept.Tag == "" {
		return err
	}
	now, err := Inspect(ctx, repo, kept.Tag, DepthIndex)
	if err == nil && (now.Dangling || !now.Exists()) {
		err = repo.PushTag(ctx, artifact.Blob{Descriptor: kept.Descriptor, Bytes: kept.Bytes}, kept.Tag, now.Digest)
	}
	return err
}

// deleteTag calls [Capabilities.DeleteTag]. If it is nil, deleteTag returns
// [ErrTagNotDeleted].
func deleteTag(ctx context.Context, repo Repository, tag string, was digest.Digest) error {
	untag := repo.Capabilities().DeleteTag
	if untag == nil {
		return ErrTagNotDeleted
	}
	return untag(ctx, tag, was)
}

// DeletePruned deletes the index of a pruned version and its pruned tag. It also
// deletes the referrers that the referrers API lists, or that an image layout contains
// without a tag. In image layouts, it also deletes the content that no other tag needs.
// In registries, the garbage collection deletes this content. DeletePruned never
// deletes denials, referrers lists, or content with another tag.
//
// If was is not empty, the pruned tag must point to it. If the pruned tag doesn't
// exist, DeletePruned does nothing. It returns [ErrInUse] if another tag points to the
// index, and [ErrTagNotDeleted] if the registry doesn't delete manifests. It also
// returns [ErrTagMoved] and errors from the repository.
func DeletePruned(ctx context.Context, repo Repository, v provider.Version, was digest.Digest) error {
	if err := deletePruned(ctx, repo, v, was); err != nil {
		return fmt.Errorf("deleting the pruned version %s in %s: %w", v, repo, err)
	}
	return nil
}

func deletePruned(ctx context.Context, repo Repository, v provider.Version, was digest.Digest) error {
	remove := repo.Capabilities().DeleteManifest
	if remove == nil {
		return errManifestNotDeleted
	}
	// 1. Read the pruned tag and the referrers of its index.
	pruned, err := Inspect(ctx, repo, artifact.PrunedTag(v), DepthIndex)
	switch {
	case err != nil || !pruned.Exists():
		return err
	case was != "" && pruned.Digest != was:
		return fmt.Errorf("tag %s: %w", pruned.Tag, ErrTagMoved)
	}
	referrers, err := deletableReferrers(ctx, repo, pruned.Digest)
	if err != nil {
		return err
	}
	// 2. Read the other tags that could point to the index or a referrer.
	tagged, err := otherTags(ctx, repo, v)
	if err != nil {
		return err
	}
	if tag := tagged[pruned.Digest]; tag != "" {
		return fmt.Errorf("%w: the tag %s also points to it", ErrInUse, tag)
	}
	// 3. Delete the index, and then its referrers.
	if err := remove(ctx, pruned.Digest, pruned.Tag); err != nil {
		return err
	}
	var failed []error
	for _, d := range referrers {
		if tagged[d] == "" {
			failed = append(failed, remove(ctx, d, ""))
		}
	}
	return errors.Join(failed...)
}

// deletableReferrers returns the referrers that the referrers API lists, or that an
// image layout contains without a tag. It omits decisions, and referrers whose
// manifests are missing or invalid.
func deletableReferrers(ctx context.Context, repo Reader, index digest.Digest) ([]digest.Digest, error) {
	var entries []ocispec.Descriptor
	var err error
	if list := repo.Capabilities().Referrers; list != nil {
		entries, _, err = list(ctx, index)
	} else if list := repo.Capabilities().UntaggedReferrers; list != nil {
		entries, err = list(ctx, index)
	}
	if err != nil {
		return nil, err
	}
	var found []digest.Digest
	for _, d := range entries {
		if d.Digest.Validate() != nil {
			continue
		}
		_, data, err := repo.Manifest(ctx, d.Digest.String())
		if err != nil && !isFinding(err) {
			return nil, err
		}
		if err == nil && artifact.RefersTo(data, index) {
			found = append(found, d.Digest)
		}
	}
	return found, nil
}

// otherTags returns the digests that tags point to, each with one of its tags. It reads
// the version's other tags, even if the tag list doesn't contain them. It also reads
// tags that aren't versions, and versions that differ from v only in the suffix,
// because a custom tag such as 1.2.3-stable is also a version. It skips the tags of all
// other versions, because tofu-oci never points them to the same index.
func otherTags(ctx context.Context, repo Reader, v provider.Version) (map[digest.Digest]string, error) {
	listed, err := repo.Tags(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{artifact.Tag(v), artifact.PendingTag(v), artifact.DeniedTag(v)}
	others := slices.DeleteFunc(slices.Clone(listed), func(tag string) bool {
		other, isVersion := artifact.VersionOf(tag)
		return isVersion && (other == v || numbers(other) != numbers(v)) || strings.HasPrefix(tag, "sha256-") || tag == artifact.SyncTag
	})
	if len(others) > maxOtherTags {
		return nil, fmt.Errorf("repository has %d tags that might point to the same index; the maximum is %d", len(others), maxOtherTags)
	}
	var mu sync.Mutex
	tagged := map[digest.Digest]string{}
	err = schedule.All(ctx, maxConcurrentRequests, append(others, own...), func(ctx context.Context, _ int, tag string) error {
		i, err := Inspect(ctx, repo, tag, DepthIndex)
		if err == nil && i.Exists() {
			mu.Lock()
			defer mu.Unlock()
			tagged[i.Digest] = tag
		}
		return err
	})
	return tagged, err
}

// numbers returns a version without its suffix.
func numbers(v provider.Version) string {
	text := v.String()
	if at := strings.IndexAny(text, "-+"); at >= 0 {
		text = text[:at]
	}
	return text
}
