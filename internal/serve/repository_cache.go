package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// listAge is the maximum age of an index that is needed only for a list of versions. A
// provider can have hundreds of versions, and their signatures rarely change.
const listAge = time.Hour

// repositoryCache caches data from repositories. It sends only the requests that a
// response needs. A version list requires one tag list, and a version requires one
// index.
type repositoryCache struct {
	options Options
	// opened contains the repositories that have responded. They are kept so that their
	// tokens and connections can be reused.
	opened memo.Memo[key, []candidate]
	// references contains the opened repositories of modules.
	references memo.Memo[template.Reference, repository.Reader]
	listings   *cache[string, taggedVersions]
	modules    *cache[contentKey, storedModule]
	indexes    *cache[contentKey, index]
	manifests  *cache[key, storedPackage]
	evidence   *cache[key, evidence]
	// approvals contains the reasons releases are not approved. For approved
	// releases, the reason is empty.
	approvals *cache[key, string]
	offers    *cache[key, releaseList]

	// Only the API and the pages use the caches below.
	lists       *cache[*view, providerList]
	moduleLists *cache[template.ModuleTemplate, []catalog.ModuleEntry]
	owners      *cache[template.Reference, owner]
	summaries   *cache[key, summary]
	reports     *cache[key, report]
	missing     *cache[key, []string]
	pending     *cache[key, summary]
	sboms       *cache[digest.Digest, api.SBOM]
	// health reports whether the registries respond.
	health *cache[struct{}, bool]
	synced *cache[struct{}, syncResult]
}

// key identifies a cached value. Fields that don't apply are zero. The key includes the
// provider, because the meaning of an index depends on the requested provider.
type key struct {
	view     *view
	address  provider.Address
	version  provider.Version
	index    digest.Digest
	platform provider.Platform
}

// contentKey identifies a tag or a blob in a repository. All queries share the cached
// index of a tag, but each query checks the provider.
type contentKey struct{ repository, reference string }

func (p providerQuery) key() key { return key{view: p.view, address: p.address} }

// key returns the cache key of an index or, if p is set, of its package for a platform.
func (i index) key(q providerQuery, p provider.Platform) key {
	return key{q.view, q.address, i.version, i.Digest, p}
}

// taggedVersions contains the versions in the tags of a repository.
type taggedVersions struct {
	// newest contains the tags of the newest releases, including denied releases. These
	// releases determine the repository's provider.
	newest   []string
	versions []provider.Version
	// pending contains the versions that are waiting for approval. They are not served
	// to clients.
	pending []provider.Version
	// denied contains the denied versions. They are not pulled from the origin.
	denied []provider.Version
}

// listing contains the versions of a provider and their repository.
type listing struct {
	candidate
	taggedVersions
	// stored is the address under which the releases are stored, or zero if the address
	// is unknown.
	stored provider.Address
}

// index is the index of a version.
type index struct {
	repository.Inspection
	candidate
	version provider.Version
	// stored is the address under which the release is stored, or zero if the address
	// is unknown.
	stored provider.Address
	weight int64
}

// storedPackage is the package for a platform, as described by its manifest.
type storedPackage struct {
	repo repository.Reader
	zip  ocispec.Descriptor
	// pkg contains the metadata of the package.
	pkg provider.Package
}

func newRepositoryCache(o Options) *repositoryCache {
	changing := freshness{maxAge: o.MaxAge, staleIfError: o.StaleIfError, now: o.Now, timeouts: o.timeouts, requests: make(chan struct{}, maxConcurrentRequests), events: o.Events}
	forever := changing
	forever.maxAge = 0
	rc := &repositoryCache{
		options:     o,
		opened:      memo.Memo[key, []candidate]{Size: o.Memory / 8, SizeOf: func([]candidate) int64 { return 8 << 10 }},
		references:  memo.Memo[template.Reference, repository.Reader]{Size: o.Memory / 8, SizeOf: func(repository.Reader) int64 { return 8 << 10 }},
		modules:     newCache[contentKey](changing, "module", o.Memory/8, func(m storedModule) int64 { return m.weight }),
		listings:    newCache[string](changing, "tags", o.Memory/8, func(t taggedVersions) int64 { return int64(len(t.versions)+len(t.pending)+len(t.denied)) * 96 }),
		indexes:     newCache[contentKey](changing, "index", o.Memory*3/8, func(i index) int64 { return i.weight }),
		manifests:   newCache[key](forever, "manifest", o.Memory/8, func(storedPackage) int64 { return 1 << 10 }),
		evidence:    newCache[key](forever, "evidence", o.Memory/4, evidence.weight),
		offers:      newCache[key](changing, "versions", o.Memory/8, releaseList.weight),
		approvals:   newCache[key](changing, "approval", o.Memory/32, func(problem string) int64 { return int64(len(problem)) }),
		moduleLists: newCache[template.ModuleTemplate](changing, "modules", o.Memory/16, func(l []catalog.ModuleEntry) int64 { return int64(len(l)) * 256 }),
		lists:       newCache[*view](changing, "catalog", o.Memory/8, func(l providerList) int64 { return int64(len(l.providers)) * 256 }),
		owners:      newCache[template.Reference](changing, "owner", o.Memory/16, func(owner) int64 { return 256 }),
		summaries:   newCache[key](forever, "summary", o.Memory/8, func(s summary) int64 { return s.weight }),
		reports:     newCache[key](changing, "report", o.Memory/8, func(r report) int64 { return r.weight }),
		missing:     newCache[key](changing, "blobs", o.Memory/32, func(missing []string) int64 { return int64(len(missing)) * 96 }),
		pending:     newCache[key](changing, "pending", o.Memory/32, func(s summary) int64 { return s.weight }),
		sboms:       newCache[digest.Digest](forever, "components", o.Memory/16, func(s api.SBOM) int64 { return int64(len(s.Components)) * 192 }),
		health:      newCache[struct{}](changing, "health", o.Memory/32, func(bool) int64 { return 0 }),
		synced:      newCache[struct{}](changing, "sync", o.Memory, func(r syncResult) int64 { return int64(len(r.items)) * 256 }),
	}
	rc.offers.onFailure = func(error) {} // the other caches report the same errors
	return rc
}

// isAbsent reports whether an error means that a provider or version doesn't exist.
func isAbsent(err error) bool {
	return isForeign(err) || errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
}

func isFormat(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

// isUnreadable reports whether a tag exists but doesn't point to a readable release.
func isUnreadable(err error) bool {
	_, isLost := errors.AsType[*repository.DanglingTagError](err)
	return isLost || isFormat(err)
}

// list returns the versions of a provider if the caller can read it.
func (rc *repositoryCache) list(ctx context.Context, q providerQuery) (listing, cacheState, error) {
	known, state, err := rc.find(ctx, q)
	if err := q.authorizationError(known.stored, err); err != nil {
		return listing{}, state, err
	}
	known.versions, err = rc.approved(ctx, q, known)
	return known, state, err
}

// find returns the versions of a provider in the first repository that contains the
// provider. The result doesn't depend on the caller, because an address must refer to
// the same provider for everyone.
func (rc *repositoryCache) find(ctx context.Context, q providerQuery) (listing, cacheState, error) {
	ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response) // shared by the requests to all repositories
	defer cancel()
	candidates, err := rc.open(q)
	if err != nil {
		return listing{}, cacheState{}, err
	}
	absent := fmt.Errorf("%w: no repository contains %s", provider.ErrProviderNotFound, q.address)
	for choice, in := range candidates {
		known := listing{candidate: in}
		var state cacheState
		known.taggedVersions, state, err = rc.tags(ctx, in.repo, rc.listings.maxAge)
		if repository.IsUnknownProvider(err) {
			continue // for any other error, the next repository must not replace this one
		}
		if err == nil {
			rc.opened.Put(q.key(), candidates)
			known.stored, err = rc.owner(ctx, q, known)
		}
		switch {
		case err == nil:
			return known, state, nil
		case !isForeign(err):
			return listing{}, state, err
		case choice == len(candidates)-1:
			// Pull-through can't write to the last repository, because it belongs to a
			// different provider.
			return listing{}, state, fmt.Errorf("%w: %w%s", absent, err, aliasAdvice(err))
		}
	}
	return listing{}, cacheState{}, absent
}

// tags returns the versions in the tags of a repository.
func (rc *repositoryCache) tags(ctx context.Context, repo repository.Reader, maxAge time.Duration) (taggedVersions, cacheState, error) {
	return rc.listings.getWithin(ctx, repo.String(), maxAge, func(ctx context.Context) (taggedVersions, error) {
		tags, err := repo.Tags(ctx)
		known := taggedVersions{versions: artifact.Tags(tags).Released(), pending: artifact.Tags(tags).Pending(), denied: artifact.Tags(tags).Denied()}
		newest, tag := artifact.Tags(tags).Newest()
		for _, v := range newest[:min(len(newest), maxUnreadable)] {
			known.newest = append(known.newest, tag(v))
		}
		return known, err
	})
}

// index returns the index of a version of the provider if the caller can read it.
func (rc *repositoryCache) index(ctx context.Context, q providerQuery, v provider.Version) (index, cacheState, error) {
	known, listed, err := rc.find(ctx, q)
	if err == nil && slices.Contains(known.versions, v) {
		i, read, err := rc.indexIn(ctx, q, known, v, rc.indexes.maxAge)
		if err == nil {
			err = rc.checkApproved(ctx, q, i)
		}
		return i, listed.merge(read), err
	}
	if err = q.authorizationError(known.stored, err); err == nil {
		err = fmt.Errorf("%w: %s %s: %s", provider.ErrVersionNotFound, q.address, v, provider.SomeVersions(known.versions))
	}
	return index{}, listed, err
}

// indexIn returns the index of a version in a listing if the caller can read it.
func (rc *repositoryCache) indexIn(ctx context.Context, q providerQuery, known listing, v provider.Version, maxAge time.Duration) (index, cacheState, error) {
	i, state, err := rc.release(ctx, q, known.candidate, v, maxAge)
	stored := i.stored
	if err != nil {
		stored = known.stored
	}
	if !q.caller.MayRead(stored) {
		return index{}, state, q.refusal(stored)
	}
	return i, state, q.withoutForeignAddress(err)
}

// release returns the index of a version in a repository. It doesn't check the caller's
// access.
func (rc *repositoryCache) release(ctx context.Context, q providerQuery, in candidate, v provider.Version, maxAge time.Duration) (index, cacheState, error) {
	i, state, err := rc.read(ctx, in.repo, artifact.Tag(v), maxAge)
	if err != nil {
		return index{}, state, err
	}
	i.candidate, i.version = in, v
	i.stored, err = q.ownerOf(i.Inspection, in.unstated)
	return i, state, err
}

// read returns the index that a tag points to. It doesn't check the provider.
func (rc *repositoryCache) read(ctx context.Context, repo repository.Reader, tag string, maxAge time.Duration) (index, cacheState, error) {
	return rc.indexes.getWithin(ctx, contentKey{repo.String(), tag}, maxAge, func(ctx context.Context) (index, error) {
		found, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
		switch {
		case err != nil:
			return index{}, err
		case found.Dangling:
			return index{}, &repository.DanglingTagError{Tag: found.Tag, Index: ocispec.Descriptor{Digest: found.Digest}, Err: repository.ErrNotFound}
		case !found.Exists():
			return index{}, fmt.Errorf("%w: the tag %s: %w", provider.ErrVersionNotFound, tag, found.Absent)
		case found.Format != nil:
			return index{}, found.Format
		}
		// A parsed index uses about four times the memory of its JSON.
		weight := 4 * int64(len(found.Bytes))
		found.Bytes = nil
		return index{Inspection: found, weight: weight}, nil
	})
}

// storedPackage returns the package for a platform. Its manifest is read only once.
func (rc *repositoryCache) storedPackage(ctx context.Context, q providerQuery, i index, p provider.Platform) (storedPackage, error) {
	if !i.HasPlatform(p) {
		return storedPackage{}, &provider.PlatformError{Address: q.address, Version: i.version, Wanted: p, Have: i.Index.Platforms()}
	}
	t, _, err := rc.manifests.get(ctx, i.key(q, p), func(ctx context.Context) (storedPackage, error) {
		deeper, err := i.InspectMore(ctx, i.repo, repository.DepthManifests, p)
		if err != nil {
			return storedPackage{}, err
		}
		found := deeper.Platforms[p]
		if found.Err != nil {
			return storedPackage{}, fmt.Errorf("reading the manifest of %s %s for %s: %w", q.address, i.version, p, found.Err)
		}
		pkg := found.Package(q.address, i.version)
		if err := pkg.CheckIdentity(); err != nil {
			return storedPackage{}, err
		}
		if stated, has := found.Target.Digest(); has && stated != pkg.Digest {
			return storedPackage{}, &artifact.FormatError{Problem: fmt.Sprintf("index lists the zip %s for %s, but its manifest lists %s", stated, p, pkg.Digest)}
		}
		return storedPackage{repo: i.repo, zip: found.Manifest.Zip, pkg: pkg}, nil
	})
	return t, err
}
