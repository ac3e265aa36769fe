package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// WriteLatest points a module's latest tag to a version that the repository contains,
// unless the tag already points to this version. was is the inspection of the latest
// tag. If another run moves the tag at the same time, the other run wins.
func WriteLatest(ctx context.Context, repo repository.Repository, version digest.Digest, was repository.Inspection) error {
	if was.Digest == version {
		return nil
	}
	d, data, err := repo.Manifest(ctx, version.String())
	if err == nil {
		err = repo.PushTag(ctx, artifact.Blob{Descriptor: d, Bytes: data}, artifact.LatestTag, was.Digest)
	}
	if err != nil && !errors.Is(err, repository.ErrTagMoved) {
		return fmt.Errorf("writing the tag %s: %w", artifact.LatestTag, err)
	}
	return nil
}

// copyLatest writes a module's latest tag if the source's latest tag points to the
// copied version. If the target's latest tag already points to a newer version, as when
// an older bundle is imported, copyLatest keeps that tag.
func copyLatest(ctx context.Context, from repository.Reader, to repository.Repository, copied Result) error {
	source, err := repository.Inspect(ctx, from, artifact.LatestTag, repository.DepthIndex)
	if err != nil || !source.Exists() || source.Digest != cmp.Or(copied.Source, copied.Digest) {
		return err
	}
	target, err := repository.Inspect(ctx, to, artifact.LatestTag, repository.DepthIndex)
	if err != nil || target.Digest == copied.Digest { // the target can have kept its own manifest
		return err
	}
	if isNewer, err := isLatestNewer(ctx, repository.ModuleReader(to), target, copied.Version); isNewer || err != nil {
		return err
	}
	return WriteLatest(ctx, to, copied.Digest, target)
}

// isLatestNewer reports whether a module's latest tag points to a newer version than v.
// Other tools write no annotation for the version, so isLatestNewer then looks for the
// newest version with the same digest. If there is none, such as after the version was
// replaced, it reports whether the repository has a newer version than v.
func isLatestNewer(ctx context.Context, repo repository.Reader, latest repository.Inspection, v provider.Version) (bool, error) {
	annotated, err := provider.ParseVersion(latest.Index.Annotations[ocispec.AnnotationVersion])
	if err == nil || !latest.Exists() || latest.Dangling {
		return annotated.Compare(v) > 0, nil
	}
	tags, err := repo.Tags(ctx)
	if err != nil && !errors.Is(err, provider.ErrForbidden) && !errors.Is(err, repository.ErrNotFound) {
		return false, err
	}
	versions := artifact.Tags(tags).Tagged() // empty if the registry doesn't list tags
	for _, version := range versions {
		i, err := repository.Inspect(ctx, repo, artifact.Tag(version), repository.DepthIndex)
		if err != nil || i.Digest == latest.Digest {
			return version.Compare(v) > 0, err
		}
	}
	return len(versions) > 0 && versions[0].Compare(v) > 0, nil
}
