package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// originFailing is the pause after a failed request to an origin. Without this pause,
// each client would wait for the timeout.
const originFailing = 10 * time.Second

const (
	// dateAge is the maximum age of a cached date. Dates don't change.
	dateAge = 12 * time.Hour
	// maxDates limits the number of dates that are requested for one list. Each date
	// requires two requests and is then cached.
	maxDates = 24
	// maxConcurrentDates limits the number of concurrent requests for dates.
	maxConcurrentDates = 8
)

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
	// to is the repository to which the release is pulled. It is not cached.
	to template.Reference
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
			return upstreamRelease{Release: r, refused: refused}, nil
		}
		return upstreamRelease{Release: r}, err
	})
	if err != nil {
		err = &originError{a.Host, err}
	}
	return d, state, err
}

// allVersions returns the versions in the repositories, followed by the versions that
// only the origin has.
func (s *Server) allVersions(x *exchange) ([]provider.Version, cacheState, error) {
	var known listing
	upstream, state, err := s.withOrigin(x.r.Context(), x.query, func() (_ []provider.Version, state cacheState, err error) {
		known, state, err = s.repos.list(x.r.Context(), x.query)
		return known.versions, state, err
	})
	if err != nil {
		return nil, state, err
	}
	x.event.Repository = originLabel(x.query.origin)
	if known.repo != nil {
		x.event.Repository = known.repo.String()
	}
	return slices.Concat(known.versions, upstream), state, nil
}

// withOrigin returns the versions that only the origin has, except versions that are
// pending, denied, known to be too young, or known to have no files. It concurrently
// calls stored to get the versions in the repositories, because clients don't wait long
// enough for two consecutive requests. If the origin doesn't respond, withOrigin
// returns no versions.
func (s *Server) withOrigin(ctx context.Context, q query, stored func() ([]provider.Version, cacheState, error)) (upstream []provider.Version, state cacheState, err error) {
	if !s.isPullThrough(q) {
		_, state, err := stored()
		return nil, state, err
	}
	originCtx, cancel := context.WithTimeout(ctx, s.options.timeouts.response) // starts here to include the time of all requests
	defer cancel()
	var group sync.WaitGroup
	var decisions taggedVersions
	var originState cacheState
	var originErr, decisionsErr error
	group.Go(func() { upstream, originState, originErr = s.origins.versions(ctx, q.origin) })
	group.Go(func() { decisions, _, decisionsErr = s.repos.decisions(ctx, q, s.options.MaxAge) })
	known, state, err := stored()
	group.Wait()
	originErr = cmp.Or(decisionsErr, originErr)
	switch {
	case err != nil && !s.canPullThrough(q, err), isAbsent(originErr):
		return nil, state, err
	case originErr != nil && err == nil:
		return nil, state.merge(cacheState{stale: originErr}), nil
	case originErr != nil:
		return nil, state, originErr
	}
	taken := slices.Concat(known, decisions.pending, decisions.denied)
	upstream = slices.DeleteFunc(slices.Clone(upstream), func(v provider.Version) bool {
		return slices.Contains(taken, v) || s.origins.puller.IsBroken(q.origin, v)
	})
	return s.filterByAge(originCtx, q.origin, upstream, len(known) > 0), state.merge(originState), nil
}

// filterByAge removes versions that are known to be too young, so that clients choose
// an older version. It requests the dates of the versions that a client would choose.
// These are the newest version of each minor version and, if that version is too young,
// the next older version. Other versions are checked when they are requested. If no
// version is old enough and hasOthers is false, filterByAge returns all versions, so
// that clients learn the reason.
func (s *Server) filterByAge(ctx context.Context, a provider.Address, versions []provider.Version, hasOthers bool) []provider.Version {
	if !s.origins.puller.HasMinAge() {
		return versions
	}
	isYoung := func(v provider.Version) bool {
		date, known := s.origins.dates.lookup(key{address: a, version: v})
		return known && !date.IsZero() && s.origins.puller.CheckAge(a, v, date) != nil
	}
	for requested := 0; requested < maxDates && ctx.Err() == nil; {
		// 1. Find the versions that a client would choose.
		var undated []provider.Version
		chosen := map[string]bool{}
		for _, v := range provider.NewestFirst(versions) {
			parts := strings.SplitN(v.String(), ".", 3)
			minor := strings.Join(parts[:2], ".")
			if chosen[minor] || isYoung(v) {
				continue
			}
			chosen[minor] = true
			if _, known := s.origins.dates.kept.Lookup(key{address: a, version: v}); !known && requested < maxDates {
				undated = append(undated, v)
				requested++
			}
		}
		// 2. Request the dates of these versions.
		err := schedule.All(ctx, maxConcurrentDates, undated, func(_ context.Context, _ int, v provider.Version) error { // after a failure, the other requests continue
			_, _, err := s.origins.dates.get(ctx, key{address: a, version: v}, func(ctx context.Context) (time.Time, error) {
				return s.origins.puller.Date(ctx, a, v)
			})
			return err
		})
		if err != nil || len(undated) == 0 {
			break
		}
	}
	old := slices.DeleteFunc(slices.Clone(versions), isYoung)
	if len(old) == 0 && !hasOthers {
		return versions
	}
	return old
}
