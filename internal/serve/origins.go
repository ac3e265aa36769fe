package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// originFailing is the pause after a failed request to an origin. Without this pause,
// each client would wait for the timeout.
const originFailing = 10 * time.Second

// maxTag is the maximum length of a tag in a registry.
const maxTag = 128

// origins caches data from origin registries, with the same freshness as data from
// repositories.
type origins struct {
	puller   *pullthrough.Puller
	lists    *cache[provider.Address, []provider.Version]
	releases *cache[key, upstreamRelease]
	dates    *cache[key, time.Time]
}

// upstreamRelease describes a release in its origin. refused is the reason the
// release can't be pulled, or nil.
type upstreamRelease struct {
	provider.Release
	refused error
}

// newOrigins returns nil if pull-through is disabled.
func newOrigins(o Options, repos *repositoryCache) (*origins, error) {
	if o.PullThrough == nil {
		return nil, nil
	}
	options := *o.PullThrough
	options.OnEvent = func(e pullthrough.Event) {
		if e.Stage == pullthrough.StageDone {
			repos.addStored(e)
		}
		o.Events.onPull(e)
	}
	if options.Now == nil {
		options.Now = o.Now
	}
	puller, err := pullthrough.New(options)
	if err != nil {
		return nil, err
	}
	changing := repos.listings.freshness
	changing.retryPause, changing.requests = originFailing, make(chan struct{}, maxConcurrentRequests)
	dates := changing
	dates.maxAge, dates.events.OnLookup = dateAge, nil
	return &origins{
		puller:   puller,
		lists:    newCache[provider.Address](changing, "origin-versions", o.Memory/8, func(l []provider.Version) int64 { return int64(len(l)) * 96 }),
		releases: newCache[key](changing, "origin-release", o.Memory/4, upstreamRelease.weight),
		dates:    newCache[key](dates, "", o.Memory/16, func(time.Time) int64 { return 64 }),
	}, nil
}

func (d upstreamRelease) weight() int64 {
	weight := int64(len(d.Packages)) * 2048
	for _, document := range d.Documents {
		weight += int64(len(document.Bytes))
	}
	return weight
}

// originError is returned if a request to an origin fails.
type originError struct {
	host svchost.Hostname
	err  error
}

func (e *originError) Error() string {
	return fmt.Sprintf("contacting the origin registry %s: %v", e.host.ForDisplay(), e.err)
}

func (e *originError) Unwrap() error { return e.err }

// problem describes the error for clients, without details that only concern the server's
// operator.
func (e *originError) problem() string {
	label := errorLabel(e.err)
	if status, ok := responseStatus(e.err); ok {
		return fmt.Sprintf("responded with %d %s", status, http.StatusText(status))
	}
	switch label {
	case "network", "timeout":
		return "is unreachable (" + label + ")"
	case "content":
		return "sent invalid content"
	}
	return "did not provide the release or its versions (" + label + ")"
}

// versions returns the versions of a provider or module in its origin.
func (o *origins) versions(ctx context.Context, a provider.Address) ([]provider.Version, cacheState, error) {
	versions, state, err := o.lists.get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		return o.puller.Versions(ctx, a)
	})
	if err != nil {
		err = &originError{a.Host, err}
	}
	return versions, state, err
}

// release describes a release in its origin.
func (o *origins) release(ctx context.Context, a provider.Address, v provider.Version) (upstreamRelease, cacheState, error) {
	d, state, err := o.releases.get(ctx, key{address: a, version: v}, func(ctx context.Context) (upstreamRelease, error) {
		r, err := o.puller.Release(ctx, a, v)
		if refused, ok := errors.AsType[*pullthrough.RefusedError](err); ok {
			return upstreamRelease{r, refused}, nil
		}
		return upstreamRelease{Release: r}, err
	})
	if err != nil {
		err = &originError{a.Host, err}
	}
	return d, state, err
}

// originRequest is a request for a provider or module whose missing versions can be
// pulled from its origin. Pulled versions are stored under the requested address.
type originRequest interface {
	// originAddress returns the requested address. The address of a module has the form of
	// [module.Address.InRegistry].
	originAddress() provider.Address
	// mayRead reports whether the caller has access to the requested address.
	mayRead() bool
	// homes returns the repositories that might contain the provider or module.
	homes(rc *repositoryCache) ([]home, error)
}

// home is a repository that might contain a provider or module. checkOwner returns an
// error if the repository's versions belong to a different provider or module.
type home struct {
	repo       repository.Reader
	checkOwner func(context.Context, taggedVersions) error
}

func (p providerQuery) originAddress() provider.Address { return p.address }
func (p providerQuery) mayRead() bool                   { return p.caller.MayRead(p.address) }

func (p providerQuery) homes(rc *repositoryCache) (all []home, err error) {
	candidates, err := rc.open(p)
	for _, in := range candidates {
		all = append(all, home{in.repo, func(ctx context.Context, known taggedVersions) error {
			_, err := rc.owner(ctx, p, listing{candidate: in, taggedVersions: known})
			return err
		}})
	}
	return all, err
}

func (q moduleQuery) originAddress() provider.Address {
	a := q.requested.InRegistry()
	a.Host = svchost.Hostname(q.address.Hostname)
	return a
}

func (q moduleQuery) mayRead() bool { return q.caller.MayReadModule(q.address) }

func (q moduleQuery) homes(rc *repositoryCache) (all []home, err error) {
	candidates, err := rc.openModule(q)
	for _, in := range candidates {
		all = append(all, home{in.repo, func(ctx context.Context, known taggedVersions) error {
			in.taggedVersions = known
			_, err := rc.moduleOwner(ctx, q, in)
			return err
		}})
	}
	return all, err
}

// isPullThrough reports whether missing versions are pulled from the origin for the
// caller.
func (s *Server) isPullThrough(q originRequest) bool {
	return s.origins != nil && s.origins.puller.Covers(q.originAddress()) && q.mayRead()
}

// canPullThrough reports whether err means that the repositories don't contain a
// provider, module, or version that its origin might contain.
func (s *Server) canPullThrough(q originRequest, err error) bool {
	absent := errors.Is(err, provider.ErrProviderNotFound) || errors.Is(err, provider.ErrVersionNotFound)
	return absent && !isForeign(err) && s.isPullThrough(q)
}

// decisions returns the pending and denied versions in all repositories that might
// contain the provider or module. If a repository can't list tags, decisions checks the
// tags of the requested versions.
func (rc *repositoryCache) decisions(ctx context.Context, q originRequest, maxAge time.Duration, requested ...provider.Version) (all taggedVersions, state cacheState, err error) {
	ctx, cancel := context.WithTimeout(ctx, rc.options.timeouts.response)
	defer cancel()
	candidates, err := q.homes(rc)
	if err != nil {
		return taggedVersions{}, cacheState{}, err
	}
	for _, in := range candidates {
		known, tagState, err := rc.tags(ctx, in.repo, maxAge)
		if repository.IsUnknownProvider(err) && len(requested) > 0 {
			known, tagState, err = rc.decisionsByTag(ctx, in.repo, maxAge, requested)
		}
		if err == nil && len(known.pending)+len(known.denied) > 0 {
			err = in.checkOwner(ctx, known)
		}
		switch state = state.merge(tagState); {
		case repository.IsUnknownProvider(err) || isForeign(err): // the decisions concern a different provider or module
		case err != nil:
			return taggedVersions{}, state, err
		default:
			all.pending, all.denied = append(all.pending, known.pending...), append(all.denied, known.denied...)
		}
	}
	return all, state, nil
}

// decisionsByTag returns the given versions that are pending or denied in a repository
// that can't list tags.
func (rc *repositoryCache) decisionsByTag(ctx context.Context, repo repository.Reader, maxAge time.Duration, versions []provider.Version) (found taggedVersions, state cacheState, err error) {
	exists := func(tag string) bool {
		if len(tag) > maxTag || err != nil {
			return false
		}
		_, tagState, failure := rc.read(ctx, repo, tag, maxAge)
		state = state.merge(tagState)
		if failure != nil && !isUnreadable(failure) && !isAbsent(failure) {
			err = failure
		}
		return failure == nil || isUnreadable(failure)
	}
	for _, v := range versions {
		if exists(artifact.DeniedTag(v)) {
			found.denied = append(found.denied, v)
		}
		if exists(artifact.PendingTag(v)) {
			found.pending = append(found.pending, v)
		}
	}
	return found, state, err
}

// addStored adds a mirrored release to the cached list of its repository, so that
// clients don't wait until the tags are listed again.
func (rc *repositoryCache) addStored(e pullthrough.Event) {
	known, _ := rc.listings.kept.Lookup(e.Repository)
	switch {
	case !known.hasResult || known.absent != nil:
		rc.listings.kept.Forget(e.Repository)
	case !slices.Contains(known.value.versions, e.Version):
		known.value.newest = append([]string{artifact.Tag(e.Version)}, known.value.newest...)
		known.value.versions = provider.NewestFirst(append(slices.Clip(known.value.versions), e.Version))
		rc.listings.kept.Put(e.Repository, known)
	}
	for _, key := range rc.offers.kept.Keys() {
		if key.address == e.Address {
			rc.offers.kept.Forget(key)
		}
	}
}
