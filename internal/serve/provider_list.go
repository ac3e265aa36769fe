package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// ownerAge is the maximum age of a cached [owner] or module list, unless
	// Options.MaxAge is longer. The provider of a repository rarely changes, and a
	// registry can have hundreds of repositories.
	ownerAge = 10 * time.Minute
	// reportAge is the maximum age of a cached check of a release, unless
	// Options.MaxAge is longer.
	reportAge = 5 * time.Minute
)

// providerList contains the providers in the repositories of a view.
type providerList struct {
	providers []listedProvider
	// warnings describes the repositories that could not be listed.
	warnings []string
}

// listedProvider is a provider in a repository.
type listedProvider struct {
	address   provider.Address
	reference template.Reference
	// stored is the address under which the provider's releases are stored, or zero if
	// the address is unknown.
	stored provider.Address
}

// owner contains the provider of a repository and the newest version in the repository.
type owner struct {
	address provider.Address
	stated  bool
	latest  string
	// published is the publication date of the newest version, or nil if it is unknown.
	published *time.Time
	// pending contains the pending versions. tagged reports whether the tags are known.
	pending []provider.Version
	tagged  bool
}

// providers lists the providers of a view. If several templates match repositories of
// the same provider, the first template takes precedence.
func (rc *repositoryCache) providers(ctx context.Context, v *view) (providerList, cacheState, error) {
	return rc.lists.get(ctx, v, func(ctx context.Context) (providerList, error) {
		o := catalog.Options{Names: rc.options.Catalog}
		if rc.options.Providers != nil {
			addresses, err := rc.options.Providers()
			if err != nil {
				return providerList{}, err
			}
			o.Named = append([]provider.Address{}, addresses...)
		}
		var list providerList
		seen := map[provider.Address]bool{}
		for _, t := range v.from {
			o.Owner = func(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
				return rc.repositoryOwner(ctx, v, t, ref)
			}
			l, err := catalog.List(ctx, t, o)
			if warning := listingWarning(t.Redacted(), "; list their providers in a file, and start the server with --providers FILE", err); warning != "" {
				list.warnings = append(list.warnings, warning)
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
					found.address.Host = v.as // this view ignores the host
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

// repositoryOwner returns the provider of a repository in a view.
func (rc *repositoryCache) repositoryOwner(ctx context.Context, v *view, t template.Template, ref template.Reference) (provider.Address, bool, error) {
	o, err := rc.readOwner(ctx, ref)
	if err != nil || o.stated {
		return o.address, o.stated, err
	}
	unstated := v.unstated(t, ref)
	return unstated, unstated != (provider.Address{}), nil
}

// readOwner returns the owner of a repository.
func (rc *repositoryCache) readOwner(ctx context.Context, ref template.Reference) (owner, error) {
	o, _, err := rc.owners.getWithin(ctx, ref, max(ownerAge, rc.options.MaxAge), func(ctx context.Context) (owner, error) {
		repo, err := rc.options.Open(ref)
		if err != nil {
			return owner{}, err
		}
		recorder := &tagRecorder{Reader: repo}
		a, ok, err := catalog.Owner(ctx, recorder)
		tags := artifact.Tags(recorder.tags)
		o := owner{address: a, stated: ok, latest: newest(tags.Released()), pending: tags.Pending(), tagged: err == nil}
		if v, invalid := provider.ParseVersion(o.latest); invalid == nil && recorder.tag == artifact.Tag(v) {
			o.published = dateOf(recorder.index)
		}
		return o, err
	})
	return o, err
}

// tagRecorder is a repository that records its tags and the index that was read, so that
// they are requested only once.
type tagRecorder struct {
	repository.Reader
	tags  []string
	tag   string
	index artifact.Index
}

// Manifest implements [repository.Reader].
func (r *tagRecorder) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := r.Reader.Manifest(ctx, reference)
	if index, invalid := artifact.ParseIndex(data); err == nil && invalid == nil {
		r.tag, r.index = reference, index
	}
	return d, data, err
}

// Tags implements [repository.Reader].
func (r *tagRecorder) Tags(ctx context.Context) (tags []string, err error) {
	r.tags, err = r.Reader.Tags(ctx)
	return r.tags, err
}

// newest returns the version that is installed by default. It is the newest version
// that is not a pre-release. If all versions are pre-releases, it is the newest
// pre-release.
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

// latest returns the newest version in a repository, or "" if it is not cached.
func (rc *repositoryCache) latest(ref template.Reference) string {
	if known, found := rc.listings.lookup(ref.String()); found {
		return newest(known.versions)
	}
	known, _ := rc.owners.lookup(ref)
	return known.latest
}

// listingWarning returns a warning for callers if a permanent error prevents listing
// the providers or modules of a template. For temporary errors, it returns "".
func listingWarning(redacted, remedy string, err error) string {
	about, refused := errors.AsType[*repository.Error](err)
	_, invalid := errors.AsType[*template.ReferenceError](err)
	switch {
	case refused && errors.Is(err, repository.ErrNoCatalog):
		return fmt.Sprintf("The registry %s does not let this server list its repositories%s.", about.Registry, remedy)
	case invalid, errors.Is(err, catalog.ErrTemplate):
		return fmt.Sprintf("The repositories of %s cannot be listed%s.", redacted, remedy)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("The directory for %s does not exist yet.", redacted)
	}
	return ""
}
