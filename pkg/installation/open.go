package installation

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// located is the locator of what a method's source gave, around that source's
// own.
type located struct {
	source provider.Source
	inner  any
}

// located marks a release as this method's.
func (m *method) located(r provider.Release) provider.Release {
	r.Attachments = m.attachments(r.Attachments)
	r.Packages = slices.Clone(r.Packages)
	for i := range r.Packages {
		r.Packages[i].Locator = located{m.source, r.Packages[i].Locator}
		r.Packages[i].Attachments = m.attachments(r.Packages[i].Attachments)
	}
	return r
}

func (m *method) attachments(as []provider.Attachment) []provider.Attachment {
	as = slices.Clone(as)
	for i := range as {
		as[i].Locator = located{m.source, as[i].Locator}
	}
	return as
}

// merged puts together what several methods gave of a release.
func merged(parts []provider.Release) provider.Release {
	if len(parts) == 1 {
		return parts[0]
	}
	r := provider.Release{Address: parts[0].Address, Version: parts[0].Version}
	for _, part := range parts {
		for _, p := range part.Packages {
			p.Attachments = slices.Concat(p.Attachments, part.Attachments)
			r.Packages = append(r.Packages, p)
		}
		r.Protocols = append(r.Protocols, part.Protocols...)
	}
	slices.SortFunc(r.Packages, func(p, q provider.Package) int { return p.Platform.Compare(q.Platform) })
	slices.Sort(r.Protocols)
	r.Protocols = slices.Compact(r.Protocols)
	return r
}

// Open opens the zip at the source that the package came from.
func (i *Installation) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(located)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: the package is not of this source", p.Filename)
	}
	p.Locator = at.inner
	return at.source.Open(ctx, p)
}

// Directory gives the directory of a package that a filesystem_mirror has
// unpacked; see [source.Filesystem.Directory].
func (i *Installation) Directory(p provider.Package) (path string, ok bool) {
	at, ok := p.Locator.(located)
	if !ok {
		return "", false
	}
	p.Locator = at.inner
	src, ok := at.source.(interface {
		Directory(p provider.Package) (path string, ok bool)
	})
	if !ok {
		return "", false
	}
	return src.Directory(p)
}

// Load reads the documents that Release left where they are.
func (i *Installation) Load(ctx context.Context, as []provider.Attachment) ([]provider.Attachment, error) {
	loaded := slices.Clone(as)
	for n, a := range loaded {
		at, ok := a.Locator.(located)
		if a.Bytes != nil || !ok {
			continue
		}
		src, ok := at.source.(interface {
			Load(ctx context.Context, as []provider.Attachment) ([]provider.Attachment, error)
		})
		if !ok {
			continue
		}
		a.Locator = at.inner
		read, err := src.Load(ctx, []provider.Attachment{a})
		if err != nil {
			return nil, err
		}
		loaded[n].Bytes = read[0].Bytes
	}
	return loaded, nil
}

// Referrers gives the documents about all platforms of a release that Release
// gave, from the sources that it came from.
func (i *Installation) Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error) {
	i.mu.Lock()
	sources := i.served[release{a, v}]
	i.mu.Unlock()
	var all []provider.Attachment
	for _, src := range sources {
		from, ok := src.(interface {
			Referrers(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Attachment, error)
		})
		if !ok {
			continue
		}
		documents, err := from.Referrers(ctx, a, v)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

func (i *Installation) remember(r release, sources []provider.Source) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.served[r] = sources
}
