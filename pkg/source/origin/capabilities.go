package origin

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// platforms returns the sorted platforms that the registry lists for a version. It
// requests only the version list. If this list contains no platforms, it also requests
// one package document.
func (s *Source) platforms(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil || len(version.platforms) > 0 {
		return slices.Clone(version.platforms), err
	}
	found, err := query{s, a, v, version}.any(ctx)
	if _, missing := errors.AsType[*provider.PlatformError](err); missing {
		return nil, nil
	}
	if err != nil || len(found.descriptions[0].stated) == 0 {
		return nil, err
	}
	return provider.SortPlatforms(append(found.others(), found.platforms...)), nil
}

// digests returns the digests of a version's zips, by platform. It uses one package
// document. If this document doesn't list a digest for every platform, digests returns
// nil. The digests are not signed, so they can be used only to detect changes.
func (s *Source) digests(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil {
		return nil, err
	}
	found, err := query{s, a, v, version}.any(ctx)
	if _, missing := errors.AsType[*provider.PlatformError](err); missing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stated := found.descriptions[0].stated
	digests := map[provider.Platform]digest.Digest{}
	for _, platform := range slices.Concat(version.platforms, found.platforms, found.others()) {
		if digests[platform] = stated[platform].digest; digests[platform] == "" {
			return nil, nil
		}
	}
	return digests, nil
}
