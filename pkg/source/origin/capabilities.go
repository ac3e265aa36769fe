package origin

import (
	"context"
	"errors"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// platforms returns the platforms that the registry lists for a version, sorted, at
// no cost beyond the list of versions. Where it lists none, one package document
// may tell.
func (s *Source) platforms(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil || len(version.platforms) > 0 {
		return slices.Clone(version.platforms), err
	}
	found, err := question{s, a, v, version}.any(ctx)
	if _, missing := errors.AsType[*provider.PlatformError](err); missing {
		return nil, nil
	}
	if err != nil || len(found.descriptions[0].stated) == 0 {
		return nil, err
	}
	return provider.SortPlatforms(append(found.others(), found.platforms...)), nil
}

// digests returns the zip digests of all platforms of a version for the price of
// one package document, where the registry states them there; nil where it does
// not, or not for every platform. They are not signed: they tell whether
// something changed, and are no evidence.
func (s *Source) digests(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil {
		return nil, err
	}
	found, err := question{s, a, v, version}.any(ctx)
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
