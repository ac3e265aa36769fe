package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// readStored inspects stored platforms in more depth. If the plan needs all stored
// content, readStored also reads the documents of intact platforms. Damaged platforms
// that the release doesn't contain are requested from the source.
func (j *job) readStored(ctx context.Context, f *facts, needs part) (err error) {
	var platforms []provider.Platform
	depth := max(j.options.depth(), repository.DepthBlobs)
	switch needs {
	case needPlatforms:
		if err := j.readWanted(ctx, f); err != nil || len(f.wanted) == 0 {
			return err
		}
		platforms, depth = f.wanted, j.options.depth()
	case needOverlap:
		platforms = f.release.Platforms()
	case needSigned:
		platforms, depth = f.unchanged(), repository.DepthManifests
	}
	f.stored, err = f.stored.InspectMore(ctx, j.repo, depth, platforms...)
	if err != nil || needs == needPlatforms || needs == needOverlap {
		return err
	}
	if needs == needAll {
		if damaged := f.sort(j.repo, j.policy().rebuilds); len(damaged) > 0 { // the tagged release must be complete
			fresh, err := j.src.Release(ctx, j.address, j.version, damaged...)
			if _, missing := errors.AsType[*provider.PlatformError](err); missing {
				f.lost, err = damaged, nil
			}
			if err != nil {
				return fmt.Errorf("restoring the damaged package for %s: %w", damaged[0], err)
			}
			f.restored = fresh.Packages
		}
		if platforms = f.intact; len(platforms) == 0 {
			return nil
		}
	}
	f.kept, err = oci.FromInspection(ctx, j.repo, f.stored, j.address, j.version, platforms)
	if err != nil {
		return &provider.Error{Op: "reading", Address: j.address, Version: j.version, Err: err}
	}
	f.signedByRun = j.signedByUs(f.kept)
	return nil
}

// readWanted determines the requested platforms before the release is read, if the source
// supports this and the index has all of the platforms. Published versions don't change,
// so readWanted reads their digests only with AgainstOrigin or Force. If the wanted
// platforms remain unknown, the plan needs the release.
func (j *job) readWanted(ctx context.Context, f *facts) (err error) {
	wanted := j.options.Platforms
	switch {
	case !j.can.Published:
		return nil
	case j.can.Platforms != nil && !j.options.AgainstOrigin && !j.options.Force:
		if len(wanted) == 0 {
			wanted, err = j.can.Platforms(ctx, j.address, j.version)
		}
	case j.can.Digests == nil:
		return nil
	default:
		f.digests, err = j.can.Digests(ctx, j.address, j.version)
		if f.digests == nil {
			return err
		}
		if len(wanted) == 0 {
			wanted = slices.Collect(maps.Keys(f.digests))
		}
	}
	if err != nil || slices.ContainsFunc(wanted, func(p provider.Platform) bool { return !f.stored.HasPlatform(p) }) {
		return err
	}
	f.wanted = provider.SortPlatforms(wanted)
	return nil
}
