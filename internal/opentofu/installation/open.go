package installation

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// located is a locator for a release or package from a method. It wraps the locator
// from the method's source.
type located struct {
	source provider.Source
	inner  any
}

// located returns the release with this method's locators.
func (m *method) located(r provider.Release) provider.Release {
	r.Locator = located{m.source, r.Locator}
	r.Packages = slices.Clone(r.Packages)
	for i := range r.Packages {
		r.Packages[i].Locator = located{m.source, r.Packages[i].Locator}
	}
	return r
}

// merged combines partial releases from several methods.
func merged(parts []provider.Release) provider.Release {
	if len(parts) == 1 {
		return parts[0]
	}
	r := provider.Release{Address: parts[0].Address, Version: parts[0].Version, Locator: parts}
	for _, part := range parts {
		for _, p := range part.Packages {
			p.Documents = slices.Concat(p.Documents, part.Documents)
			r.Packages = append(r.Packages, p)
		}
		r.Protocols = append(r.Protocols, part.Protocols...)
		if part.Published.After(r.Published) {
			r.Published = part.Published
		}
	}
	slices.SortFunc(r.Packages, func(p, q provider.Package) int { return p.Platform.Compare(q.Platform) })
	slices.Sort(r.Protocols)
	r.Protocols = slices.Compact(r.Protocols)
	return r
}

// at returns a package's source, and the package with that source's locator.
func at(p provider.Package) (provider.Source, provider.Package, bool) {
	at, ok := p.Locator.(located)
	p.Locator = at.inner
	return at.source, p, ok
}

// Open opens a package's zip in its source.
func (i *Installation) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	src, inner, ok := at(p)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	return src.Open(ctx, inner)
}

// Capabilities returns the operations that the methods' sources support for packages
// and releases. It omits operations that are cheaper alternatives to Release, because
// only Release determines a provider's method.
func (i *Installation) Capabilities() provider.Capabilities {
	return provider.Capabilities{Denied: i.denied, Documents: i.documents, Attestations: i.attestations, Stat: i.stat, Path: i.path, Directory: i.directory}
}

// denied returns the versions that the matching methods deny. It ignores errors from the
// methods' sources, because Versions returns them.
func (i *Installation) denied(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	methods, err := i.candidates(ctx, a)
	if err != nil {
		return nil, err
	}
	var all []provider.Version
	for _, m := range methods {
		if list := provider.CapabilitiesOf(m.source).Denied; list != nil {
			versions, _ := list(ctx, a)
			all = append(all, versions...)
		}
	}
	return provider.NewestFirst(all), ctx.Err()
}

// documents returns the documents about all packages of a release from the packages'
// methods.
func (i *Installation) documents(ctx context.Context, r provider.Release) ([]provider.Document, error) {
	parts, several := r.Locator.([]provider.Release)
	if !several {
		parts = []provider.Release{r}
	}
	var all []provider.Document
	for _, part := range parts {
		at, ok := part.Locator.(located)
		if !ok {
			continue
		}
		about := provider.CapabilitiesOf(at.source).Documents
		if about == nil {
			continue
		}
		part.Locator = at.inner
		documents, err := about(ctx, part)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

// attestations returns the attestations of packages from the packages' methods.
func (i *Installation) attestations(ctx context.Context, r provider.Release) (map[digest.Digest][]provider.Document, error) {
	all := map[digest.Digest][]provider.Document{}
	for _, p := range r.Packages {
		src, inner, ok := at(p)
		if !ok || provider.CapabilitiesOf(src).Attestations == nil {
			continue
		}
		part := r
		part.Packages, part.Locator = []provider.Package{inner}, nil
		found, err := provider.CapabilitiesOf(src).Attestations(ctx, part)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// stat checks whether a package's zip exists. If its source does not support this,
// checked is false.
func (i *Installation) stat(ctx context.Context, p provider.Package) (checked bool, err error) {
	if src, inner, ok := at(p); ok {
		if stat := provider.CapabilitiesOf(src).Stat; stat != nil {
			return stat(ctx, inner)
		}
	}
	return false, nil
}

// path returns the path of a package's zip if the zip is a local file.
func (i *Installation) path(p provider.Package) (string, bool) {
	if src, inner, ok := at(p); ok {
		if path := provider.CapabilitiesOf(src).Path; path != nil {
			return path(inner)
		}
	}
	return "", false
}

// directory returns the directory of an unpacked package in a filesystem_mirror.
func (i *Installation) directory(p provider.Package) (string, bool) {
	if src, inner, ok := at(p); ok {
		if directory := provider.CapabilitiesOf(src).Directory; directory != nil {
			return directory(inner)
		}
	}
	return "", false
}
