package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Release requests the package document for each platform, and SHA256SUMS with its
// signature. If the registry's checksums disagree, it returns a *[sums.MismatchError]
// or a *[sums.FileError].
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	// 1. Find the version in the version list.
	version, err := s.versionOf(ctx, a, v)
	if err != nil {
		return provider.Release{}, err
	}
	// 2. Request the package documents.
	found, err := s.describeRelease(ctx, a, v, version, only)
	if err != nil {
		return provider.Release{}, err
	}
	descriptions := found.descriptions
	// 3. Request the documents about all packages.
	about, err := s.fetchDocuments(ctx, a, v, descriptions)
	if err != nil {
		return provider.Release{}, &provider.Error{Op: "fetching checksums of", Address: a, Version: v, Err: err}
	}
	// 4. Build the packages, and compare all checksums.
	r := provider.Release{Address: a, Version: v, Protocols: slices.Clone(version.protocols), Documents: about.documents}
	for i, platform := range found.platforms {
		p, err := packageOf(packageKey{a, v, platform}, descriptions[i], about.sums)
		if isUnlisted(err) && len(only) == 0 && len(found.platforms) > 1 {
			found.missing[platform] = &provider.PlatformError{Address: a, Version: v, Wanted: platform, Listed: err}
			continue
		}
		if err != nil {
			return provider.Release{}, &provider.Error{Op: "checking", Address: a, Version: v, Platform: platform, Err: err}
		}
		r.Packages = append(r.Packages, p)
		if len(version.protocols) == 0 {
			r.Protocols = append(r.Protocols, descriptions[i].protocols...)
		}
	}
	if len(r.Packages) == 0 {
		return provider.Release{}, &provider.Error{Op: "checking", Address: a, Version: v, Err: found.missing[found.platforms[0]]}
	}
	r.Omitted = found.omitted(r.Platforms())
	r.Protocols = provider.SortProtocols(r.Protocols)
	r.Published = cmp.Or(version.published, publicationDate(descriptions), about.modified)
	return r, nil
}

// isUnlisted reports whether SHA256SUMS doesn't list a package.
func isUnlisted(err error) bool {
	unlisted, ok := errors.AsType[*sums.FileError](err)
	return ok && unlisted.Missing != ""
}

// omitted returns the errors about platforms that can't be used. have contains the other
// platforms.
func (d described) omitted(have []provider.Platform) (all []*provider.PlatformError) {
	for _, p := range provider.SortPlatforms(slices.Collect(maps.Keys(d.missing))) {
		if e, ok := errors.AsType[*provider.PlatformError](d.missing[p]); ok {
			omitted := *e
			omitted.Have = have
			all = append(all, &omitted)
		}
	}
	return all
}

// packageOf converts a description to a package. The package document, its packages
// block, and SHA256SUMS must agree. listed is nil if the release has no SHA256SUMS.
func packageOf(key packageKey, d description, listed *sums.File) (provider.Package, error) {
	about, isStated := d.stated[key.platform]
	if !isStated {
		about.size = -1
	}
	want := d.digest
	if listed != nil {
		fromSums, err := listed.Find(d.filename)
		if err != nil {
			return provider.Package{}, err
		}
		if want != "" && want != fromSums {
			return provider.Package{}, fmt.Errorf("the package metadata disagrees with SHA256SUMS: %w",
				&sums.MismatchError{Name: d.filename, Got: want.String(), Want: fromSums.String()})
		}
		want = fromSums
	}
	if about.digest != "" && about.digest != want {
		return provider.Package{}, fmt.Errorf("the hashes that the registry lists disagree: %w",
			&sums.MismatchError{Name: d.filename, Got: about.digest.String(), Want: want.String()})
	}
	p := provider.Package{
		Address: key.address, Version: key.version, Platform: key.platform,
		Filename: provider.Filename(key.address, key.version, key.platform),
		Digest:   want, Size: about.size, H1: about.h1, Locator: d.zip,
	}
	if d.filename != p.Filename {
		p.ListedAs = d.filename
	}
	return p, nil
}

// describe returns the package document for a platform.
func (s *Source) describe(ctx context.Context, key packageKey, version listed) (description, error) {
	registry, err := s.protocol.discover(ctx, key.address.Host)
	if err != nil {
		return description{}, err
	}
	return s.protocol.describe(ctx, registry, key, version)
}
