package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// ownerAge is how long it is believed whose a repository is: that hardly ever
	// changes, and a registry may have hundreds.
	ownerAge = 10 * time.Minute
	// reportAge is how long a look at all blobs of a release is believed.
	reportAge = 5 * time.Minute
)

// browsing is what the server knows beside the knowledge of the protocols, to show
// people and programs what there is.
type browsing struct {
	options Options
	known   *knowledge

	lists     *cache[*view, providerList]
	owners    *cache[template.Reference, owner]
	summaries *cache[key, summary]
	reports   *cache[key, report]
	lost      *cache[key, []string]
	pending   *cache[key, summary]
	boms      *cache[digest.Digest, api.SBOM]
}

// providerList has the providers in the repositories of a view.
type providerList struct {
	providers []listedProvider
	// warnings say what could not be listed.
	warnings []string
}

// listedProvider is a provider in a repository.
type listedProvider struct {
	address   provider.Address
	reference template.Reference
	// stored is the address that its releases are stored as, or zero if unknown.
	stored provider.Address
}

// owner is whose a repository is, and the newest version in it.
type owner struct {
	address provider.Address
	stated  bool
	latest  string
}

func newBrowsing(o Options, known *knowledge) *browsing {
	changing, forever := known.listings.freshness, known.manifests.freshness
	return &browsing{
		options: o, known: known,
		lists:     newCache[*view](changing, "catalog", o.Memory/8, func(l providerList) int64 { return int64(len(l.providers)) * 256 }),
		owners:    newCache[template.Reference](changing, "owner", o.Memory/16, func(owner) int64 { return 256 }),
		summaries: newCache[key](forever, "summary", o.Memory/8, func(s summary) int64 { return s.weight }),
		reports:   newCache[key](changing, "report", o.Memory/8, func(r report) int64 { return r.weight }),
		lost:      newCache[key](changing, "blobs", o.Memory/32, func(lost []string) int64 { return int64(len(lost)) * 96 }),
		pending:   newCache[key](changing, "pending", o.Memory/32, func(s summary) int64 { return s.weight }),
		boms:      newCache[digest.Digest](forever, "components", o.Memory/16, func(s api.SBOM) int64 { return int64(len(s.Components)) * 192 }),
	}
}

// shelf lists the providers of a view. One that the first of its templates has is that
// one's.
func (b *browsing) list(ctx context.Context, v *view) (providerList, state, error) {
	return b.lists.get(ctx, v, func(ctx context.Context) (providerList, error) {
		o := catalog.Options{Names: b.options.Catalog}
		if b.options.Providers != nil {
			named, err := b.options.Providers()
			if err != nil {
				return providerList{}, err
			}
			o.Named = append([]provider.Address{}, named...)
		}
		var list providerList
		seen := map[provider.Address]bool{}
		for _, t := range v.from {
			o.Owner = func(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
				return b.owner(ctx, v, t, ref)
			}
			l, err := catalog.List(ctx, t, o)
			if why := unlisted(t, err); why != "" {
				list.warnings = append(list.warnings, why)
				continue
			}
			if err != nil {
				return providerList{}, err
			}
			for _, e := range l.Entries {
				found := listedProvider{address: e.Address, reference: e.Reference}
				if e.Stated {
					found.stored = e.Address
				}
				if v.as != "" {
					found.address.Host = v.as // the host does not count there
				}
				if !seen[found.address] {
					seen[found.address] = true
					list.providers = append(list.providers, found)
				}
			}
		}
		return list, nil
	})
}

// owner returns the provider of a repository of a view.
func (b *browsing) owner(ctx context.Context, v *view, t template.Template, ref template.Reference) (provider.Address, bool, error) {
	o, _, err := b.owners.getWithin(ctx, ref, max(ownerAge, b.options.MaxAge), func(ctx context.Context) (owner, error) {
		repo, err := b.options.Open(ref)
		if err != nil {
			return owner{}, err
		}
		noted := &tagsNoted{Reader: repo}
		a, ok, err := catalog.Owner(ctx, noted)
		return owner{a, ok, newest(artifact.Versions(noted.tags))}, err
	})
	if err != nil || o.stated {
		return o.address, o.stated, err
	}
	unstated := v.unstated(t, ref)
	return unstated, unstated != (provider.Address{}), nil
}

// tagsNoted is a repository whose tags are of use to two.
type tagsNoted struct {
	repository.Reader
	tags []string
}

// Tags implements [repository.Reader].
func (r *tagsNoted) Tags(ctx context.Context) (tags []string, err error) {
	r.tags, err = r.Reader.Tags(ctx)
	return r.tags, err
}

// newest returns the version that somebody gets who names none: the newest that is no
// pre-release, or else the newest.
func newest(versions []provider.Version) string {
	for _, v := range versions {
		if !v.Prerelease() {
			return v.String()
		}
	}
	if len(versions) == 0 {
		return ""
	}
	return versions[0].String()
}

// latest returns the newest version in a repository if it is known without a request.
func (b *browsing) latest(ref template.Reference) string {
	if known, found := b.known.listings.lookup(ref.String()); found {
		return newest(known.versions)
	}
	known, _ := b.owners.lookup(ref)
	return known.latest
}

// unlisted says why the providers of a template are not listed, where asking again will
// not change that; it is empty for trouble that may pass. Callers see it.
func unlisted(t template.Template, err error) string {
	about, refused := errors.AsType[*repository.Error](err)
	_, unfit := errors.AsType[*template.ReferenceError](err)
	const remedy = "their providers can be named in a file, by serve --providers FILE"
	switch {
	case refused && errors.Is(err, repository.ErrNoCatalog):
		return fmt.Sprintf("The registry %s does not list its repositories to this server; %s.", about.Registry, remedy)
	case unfit, errors.Is(err, catalog.ErrTemplate):
		return fmt.Sprintf("The repositories of %s cannot be listed; %s.", t.Redacted(), remedy)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("There is no directory for %s yet.", t.Redacted())
	}
	return ""
}
