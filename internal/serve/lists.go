package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	// ownerAge is the maximum age of a cached [owner] or module list, unless
	// Options.MaxAge is longer. It is long, because the provider of a repository rarely
	// changes and a registry can have hundreds of repositories.
	ownerAge = 10 * time.Minute
	// reportAge is the maximum age of a cached check of a release, unless
	// Options.MaxAge is longer.
	reportAge = 5 * time.Minute
)

// list contains the providers or modules in the repositories of a set.
type list struct {
	entries []listed
	// warnings describes the repositories that could not be listed.
	warnings []string
}

// listed is a provider or module in a repository.
type listed struct {
	address   provider.Address
	reference template.Reference
	// stored is the address under which the releases are stored.
	stored provider.Address
	// latest is the newest version of a module.
	latest string
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

// listSet lists the providers or modules of a set. If several templates match
// repositories of the same provider or module, the first template takes precedence.
func (rc *repositoryCache) listSet(ctx context.Context, v *providerSet, maxAge time.Duration) (list, cacheState, error) {
	return rc.lists.getWithin(ctx, v, maxAge, func(ctx context.Context) (list, error) {
		var l list
		seen := map[provider.Address]bool{}
		for _, t := range v.from {
			entries, remedy, err := rc.listTemplate(ctx, t)
			if warning := listingWarning(t.Redacted(), remedy, err); warning != "" {
				l.warnings = append(l.warnings, warning)
				continue
			}
			if err != nil {
				return list{}, err
			}
			for _, e := range entries {
				e.address.Host = cmp.Or(v.as, e.address.Host) // the set might ignore the host
				if !seen[e.address] {
					seen[e.address] = true
					l.entries = append(l.entries, e)
				}
			}
		}
		return l, nil
	})
}

// listTemplate lists the providers or modules in the repositories of a template. If the
// registry doesn't list its repositories, remedy explains what to do.
func (rc *repositoryCache) listTemplate(ctx context.Context, t repositoryTemplate) (all []listed, remedy string, err error) {
	if modules, isModules := t.(template.ModuleTemplate); isModules {
		entries, _, err := catalog.Modules(ctx, modules, catalog.Options{Names: rc.options.Catalog, Open: rc.options.Open})
		for _, e := range entries {
			found := listed{reference: e.Reference, latest: e.Latest.String(), stored: rc.unannotated(t, e.Reference)}
			if e.Address != "" {
				found.stored, _, _ = parseAddress(e.Address, true)
			}
			found.address = found.stored
			if guesses, _ := t.Match(e.Reference); found.stored.Host == "" && len(guesses) == 1 {
				found.address = guesses[0]
			}
			if found.address.Host != "" {
				all = append(all, found)
			}
		}
		return all, "", err
	}
	providers, _ := t.(template.Template)
	o := catalog.Options{Names: rc.options.Catalog, Owner: func(ctx context.Context, ref template.Reference) (provider.Address, bool, error) {
		o, err := rc.readOwner(ctx, ref)
		if err != nil || o.stated {
			return o.address, o.stated, err
		}
		unannotated := rc.unannotated(t, ref)
		return unannotated, unannotated.Host != "", nil
	}}
	if rc.options.Providers != nil {
		addresses, err := rc.options.Providers()
		if err != nil {
			return nil, "", err
		}
		o.Named = append([]provider.Address{}, addresses...)
	}
	found, err := catalog.List(ctx, providers, o)
	for _, e := range found.Entries {
		one := listed{address: e.Address, reference: e.Reference}
		if e.Stated {
			one.stored = e.Address
		}
		all = append(all, one)
	}
	return all, "; list their providers in a file, and start the server with --sources FILE", err
}

// readOwner returns the owner of a repository.
func (rc *repositoryCache) readOwner(ctx context.Context, ref template.Reference) (owner, error) {
	o, _, err := rc.owners.getWithin(ctx, ref, max(ownerAge, rc.options.MaxAge), func(ctx context.Context) (owner, error) {
		repo, err := rc.options.Open(ref)
		if err != nil {
			return owner{}, err
		}
		c, err := catalog.ReadContent(ctx, repo)
		o := owner{latest: newest(c.Tags.Released()), pending: c.Tags.Pending(), tagged: err == nil}
		o.address, o.stated = c.Owner()
		if v, invalid := provider.ParseVersion(o.latest); invalid == nil && c.Newest.Tag == artifact.Tag(v) {
			o.published = dateOf(c.Newest.Index)
		}
		return o, err
	})
	return o, err
}

// newest returns the version that is installed by default. This is the newest version
// that is not a pre-release or, if all versions are pre-releases, the newest version.
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
