package repository

import (
	"context"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// copyable refuses what is no whole release.
func copyable(i Inspection) error {
	switch {
	case i.Lost:
		return fmt.Errorf("the tag names an index that is lost: %w", ErrNotFound)
	case !i.Exists():
		return i.Absent
	case i.Format != nil:
		return i.Format
	}
	for _, platform := range i.Index.Platforms() {
		if err := i.Platforms[platform].Err; err != nil {
			return fmt.Errorf("the manifest for %s: %w", platform, err)
		}
	}
	return nil
}

// welcome looks at what the target has under the tag. Another provider is
// refused, and so are other zips, unless by force.
func (c *copier) welcome(ctx context.Context, release Inspection) (there Inspection, err error) {
	there, err = Inspect(ctx, c.to, release.Tag, DepthManifests)
	if err != nil || c.options.Force || there.Digest == release.Digest {
		return there, err
	}
	stated := release.Index.Annotations[artifact.AnnotationProvider]
	if there.Format != nil {
		return there, &ForeignError{Tag: there.Tag, Format: there.Format}
	}
	// A release that says nothing of its provider is taken as it is.
	if owner, invalid := provider.ParseAddress(stated); invalid == nil {
		err = there.CheckProvider(owner)
		if !there.Exists() {
			err = CheckOwner(ctx, c.to, owner)
		}
	}
	if err != nil {
		return there, err
	}
	var reasons []string
	for platform, was := range zips(there) {
		if is, ok := zips(release)[platform]; !ok {
			reasons = append(reasons, fmt.Sprintf("%s is there, and the source does not have it", platform))
		} else if is != was {
			reasons = append(reasons, fmt.Sprintf("%s is there with the zip %s, the source has %s", platform, was, is))
		}
	}
	for _, f := range there.Platforms {
		if f.Target.Twice {
			reasons = append(reasons, f.Err.Error())
		}
	}
	if len(reasons) > 0 {
		return there, &ConflictError{Release: stated + " " + release.Index.Annotations[ocispec.AnnotationVersion], Reasons: slices.Sorted(slices.Values(reasons))}
	}
	return there, nil
}

// zips gives the digests of the zips, as far as they are known.
func zips(i Inspection) map[provider.Platform]digest.Digest {
	known := map[provider.Platform]digest.Digest{}
	for platform, f := range i.Platforms {
		if d, stated := f.Target.Digest(); f.Err == nil {
			known[platform] = f.Manifest.Zip.Digest
		} else if stated {
			known[platform] = d
		}
	}
	return known
}

// unmoved compares the source's tag with what was copied.
func (c *copier) unmoved(ctx context.Context, release Inspection) error {
	now, err := Inspect(ctx, c.from, release.Tag, DepthIndex)
	if err == nil && now.Digest != release.Digest {
		err = &SourceMovedError{Repository: c.from.String(), Tag: release.Tag, Was: release.Digest, Is: now.Digest}
	}
	return err
}
