package serve

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// repositoryCache caches data from repositories. It sends only the requests that a
// response needs. A version list requires one tag list, and a version requires one
// index.
type repositoryCache struct {
	options Options
	// opened contains the repositories that have responded. They are kept so that
	// tokens and connections can be reused.
	opened    memo.Memo[key, []candidate]
	listings  *cache[string, taggedVersions]
	indexes   *cache[contentKey, index]
	manifests *cache[key, storedPackage]
	metadata  *cache[key, verificationMetadata]
	// approvals contains the reasons releases are not approved. For approved
	// releases, the reason is empty.
	approvals *cache[key, string]
	offers    *cache[key, releaseList]

	// Only the API and the pages use the caches below.
	lists     *cache[*providerSet, list]
	owners    *cache[template.Reference, owner]
	summaries *cache[key, summary]
	reports   *cache[key, report]
	missing   *cache[key, []string]
	pending   *cache[key, summary]
	// health contains the error of [Options.Ready], or nil if the registries respond.
	health *cache[struct{}, error]
	synced *cache[struct{}, syncResult]
}

// key identifies a cached value. Fields that don't apply are zero. The key includes the
// provider, because the meaning of an index depends on the requested provider.
type key struct {
	set      *providerSet
	address  provider.Address
	version  provider.Version
	index    digest.Digest
	platform provider.Platform
}

// contentKey identifies a tag or a blob in a repository. All queries for providers
// share the cached index of a tag, and so do all queries for modules. Each query then
// checks the provider or module.
type contentKey struct {
	repository, reference string
	isModule              bool
}

func (q query) key() key { return key{set: q.providerSet, address: q.address} }

// key returns the cache key of an index or, if p is set, of its package for a platform.
func (i index) key(q query, p provider.Platform) key {
	return key{q.providerSet, q.address, i.version, i.Digest, p}
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

// candidate is a repository that might contain a provider or module.
type candidate struct {
	template repositoryTemplate
	ref      template.Reference
	repo     repository.Reader
	// subject is the address of the provider or, for a module, its [provider.ModuleAddress].
	subject provider.Address
	// unannotated is the address of the repository's releases without an annotation.
	unannotated provider.Address
}

// listing contains the versions of a provider or module and their repository.
type listing struct {
	candidate
	taggedVersions
	// stored is the address under which the releases are stored.
	stored provider.Address
}

// index is the index of a version or, for a module, its manifest. See
// [repository.Inspection].
type index struct {
	repository.Inspection
	listing
	version provider.Version
	// stored is the address under which the release is stored.
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
	current := changing
	current.maxAge, current.staleIfError = healthAge, 0
	rc := &repositoryCache{
		options:   o,
		opened:    memo.Memo[key, []candidate]{Size: o.Memory / 8, SizeOf: func([]candidate) int64 { return 8 << 10 }},
		listings:  newCache[string](changing, "tags", o.Memory/8, func(t taggedVersions) int64 { return int64(len(t.versions)+len(t.pending)+len(t.denied)) * 96 }),
		indexes:   newCache[contentKey](changing, "index", o.Memory*3/8, func(i index) int64 { return i.weight }),
		manifests: newCache[key](forever, "manifest", o.Memory/8, func(storedPackage) int64 { return 1 << 10 }),
		metadata:  newCache[key](forever, "documents", o.Memory/4, verificationMetadata.weight),
		offers:    newCache[key](changing, "versions", o.Memory/8, releaseList.weight),
		approvals: newCache[key](changing, "approval", o.Memory/32, func(problem string) int64 { return int64(len(problem)) }),
		lists:     newCache[*providerSet](changing, "catalog", o.Memory/8, func(l list) int64 { return int64(len(l.entries)) * 256 }),
		owners:    newCache[template.Reference](changing, "owner", o.Memory/16, func(owner) int64 { return 256 }),
		summaries: newCache[key](forever, "summary", o.Memory/8, func(s summary) int64 { return s.weight }),
		reports:   newCache[key](changing, "report", o.Memory/8, func(r report) int64 { return r.weight }),
		missing:   newCache[key](changing, "blobs", o.Memory/32, func(missing []string) int64 { return int64(len(missing)) * 96 }),
		pending:   newCache[key](changing, "pending", o.Memory/32, func(s summary) int64 { return s.weight }),
		health:    newCache[struct{}](current, "health", o.Memory/32, func(error) int64 { return 0 }),
		synced:    newCache[struct{}](changing, "sync", o.Memory, func(r syncResult) int64 { return int64(len(r.items)) * 256 }),
	}
	rc.offers.onFailure = func(error) {} // the other caches report the same errors
	return rc
}

// ready returns the error of [Options.Ready] in unreachable. Callers share each result for
// healthAge, because anyone can request /readyz, and the registries could limit the rate
// of all requests. If the result isn't known in time, ready returns err.
func (rc *repositoryCache) ready(ctx context.Context) (unreachable, err error) {
	if rc.options.Ready == nil {
		return nil, nil
	}
	unreachable, _, err = rc.health.get(ctx, struct{}{}, func(ctx context.Context) (error, error) {
		ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response)
		defer cancel()
		return rc.options.Ready(ctx), nil
	})
	return unreachable, err
}
