package origin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// commonPlatforms returns the platforms to try if a registry lists no platforms. The
// most likely platform is first.
func commonPlatforms() []provider.Platform {
	common := []provider.Platform{
		provider.CurrentPlatform(),
		{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"},
		{OS: "darwin", Arch: "amd64"}, {OS: "freebsd", Arch: "amd64"}, {OS: "linux", Arch: "arm"}, {OS: "linux", Arch: "386"}, {OS: "windows", Arch: "386"},
	}
	return append(common[:1], slices.DeleteFunc(common[1:], func(p provider.Platform) bool { return p == common[0] })...)
}

// described contains the package documents of a version.
type described struct {
	// platforms and descriptions are sorted by platform and have the same order.
	platforms    []provider.Platform
	descriptions []description
	// missing maps platforms without a document to their errors.
	missing map[provider.Platform]error
}

// describeRelease requests the package documents for the given platforms. If no
// platforms are given, it requests the documents for all platforms in the version list
// or in any package document.
func (s *Source) describeRelease(ctx context.Context, a provider.Address, v provider.Version, version listed, only []provider.Platform) (described, error) {
	q := query{s, a, v, version}
	if len(only) > 0 {
		return q.named(ctx, only)
	}
	if len(version.platforms) == 0 {
		return q.unlisted(ctx)
	}
	// 1. Request the listed platforms. At least one of them must exist.
	found, err := q.all(ctx, version.platforms)
	if err == nil && len(found.platforms) == 0 {
		found, err = q.failMissing(found)
	}
	if err != nil {
		return found, err
	}
	// 2. Request the platforms that only package documents list.
	others := slices.DeleteFunc(found.others(), func(p provider.Platform) bool { return found.missing[p] != nil })
	return q.more(ctx, found, others)
}

// query identifies the version to describe.
type query struct {
	source  *Source
	address provider.Address
	version provider.Version
	listed  listed
}

// named requests the documents for the given platforms. All of the platforms must
// exist.
func (q query) named(ctx context.Context, platforms []provider.Platform) (described, error) {
	found, err := q.all(ctx, platforms)
	if err != nil || len(found.missing) == 0 {
		return found, err
	}
	return q.failMissing(found)
}

// failMissing returns the error for missing platforms.
func (q query) failMissing(found described) (described, error) {
	var err error
	wanted := provider.SortPlatforms(slices.Collect(maps.Keys(found.missing)))
	err = found.missing[wanted[0]]
	missing, ok := errors.AsType[*provider.PlatformError](err)
	if !ok {
		return described{}, err
	}
	// The error lists the platforms that were found, so that the user can request them
	// instead.
	have := slices.DeleteFunc(slices.Concat(missing.Have, found.platforms), func(p provider.Platform) bool { return slices.Contains(wanted, p) })
	missing.Have = provider.SortPlatforms(have)
	if !slices.Contains(q.listed.platforms, wanted[0]) {
		return described{}, missing
	}
	return described{}, q.failed(err)
}

func (q query) failed(err error) error {
	return &provider.Error{Op: "describing", Address: q.address, Version: q.version, Err: err}
}

// unlisted determines the platforms of a version if the version list contains none. It
// uses SHA256SUMS and the document for any one platform.
func (q query) unlisted(ctx context.Context) (described, error) {
	found, err := q.any(ctx)
	if err != nil {
		return described{}, err
	}
	others := found.others()
	if len(others) == 0 && len(found.descriptions[0].stated) == 0 {
		if others, err = q.summed(ctx, found.descriptions[0]); err != nil {
			return described{}, err
		}
	}
	return q.more(ctx, found, slices.DeleteFunc(others, func(p provider.Platform) bool { return p == found.platforms[0] }))
}

// more requests the documents for other platforms, and adds them to found.
func (q query) more(ctx context.Context, found described, others []provider.Platform) (described, error) {
	if n := len(found.platforms) + len(others); n > maxPlatforms {
		return described{}, q.failed(fmt.Errorf("%d platforms; the maximum is %d", n, maxPlatforms))
	}
	more, err := q.all(ctx, others)
	return found.with(more), err
}

// any requests the document for one platform. It uses the first listed platform. If the
// list contains no platforms, it tries the common platforms.
func (q query) any(ctx context.Context) (described, error) {
	platforms := q.listed.platforms
	if len(platforms) == 0 {
		platforms = commonPlatforms()
	} else {
		platforms = platforms[:1]
	}
	for _, platform := range platforms {
		d, err := q.source.describe(ctx, packageKey{q.address, q.version, platform}, q.listed)
		if _, missing := errors.AsType[*provider.PlatformError](err); missing {
			continue
		}
		if err != nil {
			return described{}, q.failed(err)
		}
		return described{platforms: []provider.Platform{platform}, descriptions: []description{d}}, nil
	}
	return described{}, &provider.PlatformError{Address: q.address, Version: q.version}
}

// summed returns the platforms of the packages in SHA256SUMS.
func (q query) summed(ctx context.Context, d description) ([]provider.Platform, error) {
	if d.sums == nil {
		return nil, nil
	}
	found, err := q.source.protocol.document(ctx, d.sums, maxSums)
	if err != nil {
		return nil, q.failed(err)
	}
	file, err := sums.Parse(found.text)
	if err != nil {
		return nil, q.failed(fmt.Errorf("SHA256SUMS: %w", err))
	}
	var platforms []provider.Platform
	for _, name := range file.Names() {
		_, _, text, _ := provider.ParseFilename(name)
		platform, err := provider.ParsePlatform(text)
		about := provider.Package{Address: q.address, Version: q.version, Platform: platform}
		if err == nil && about.CheckConventional(name) == nil {
			platforms = append(platforms, platform)
		}
	}
	return platforms, nil
}

// all requests the documents for the given platforms concurrently.
func (q query) all(ctx context.Context, platforms []provider.Platform) (described, error) {
	platforms = provider.SortPlatforms(platforms)
	descriptions, missing := make([]description, len(platforms)), make([]error, len(platforms))
	keys := &keySet{}
	err := schedule.All(ctx, maxDocuments, platforms, func(ctx context.Context, i int, platform provider.Platform) (err error) {
		descriptions[i], err = q.source.describe(ctx, packageKey{q.address, q.version, platform}, q.listed)
		if _, isMissing := errors.AsType[*provider.PlatformError](err); isMissing {
			missing[i] = err
			return nil
		}
		if err != nil {
			return err
		}
		if wait := schedule.ReserveMemory(ctx, descriptions[i].weight()); wait != nil {
			if err := wait(); err != nil {
				return err
			}
		}
		return keys.add(descriptions[i].keys)
	})
	if err != nil {
		return described{}, q.failed(err)
	}
	found := described{missing: map[provider.Platform]error{}}
	for i, platform := range platforms {
		if missing[i] != nil {
			found.missing[platform] = missing[i]
			continue
		}
		found.platforms, found.descriptions = append(found.platforms, platform), append(found.descriptions, descriptions[i])
	}
	return found, nil
}

// others returns the platforms that the documents list in addition to d.platforms.
func (d described) others() []provider.Platform {
	var others []provider.Platform
	for _, about := range d.descriptions {
		for platform := range about.stated {
			if !slices.Contains(d.platforms, platform) {
				others = append(others, platform)
			}
		}
	}
	return provider.SortPlatforms(others)
}

// with returns the union of d and more, sorted by platform. d and more have no platform
// in common.
func (d described) with(more described) described {
	byPlatform := map[provider.Platform]description{}
	for _, part := range []described{d, more} {
		for i, platform := range part.platforms {
			byPlatform[platform] = part.descriptions[i]
		}
	}
	if d.missing == nil {
		d.missing = map[provider.Platform]error{}
	}
	all := described{missing: maps.Clone(d.missing), platforms: provider.SortPlatforms(slices.Collect(maps.Keys(byPlatform)))}
	for _, platform := range all.platforms {
		all.descriptions = append(all.descriptions, byPlatform[platform])
	}
	return all
}
