package serve

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// recentOnHome is the number of recent versions on the home page.
const recentOnHome = 8

// describeHome returns the content of the home page. Dates and pending versions are
// included only if they are cached, because fetching them requires a request for each
// provider.
func (s *Server) describeHome(x *exchange) (none page.Home, err error) {
	// 1. Parse the request.
	matches, number, err := x.search()
	if err != nil {
		return none, err
	}
	query := x.r.URL.Query()
	home := page.Home{Search: query.Get("search"), Show: query.Get("show"), SeesPending: s.seesPending(x)}
	if !slices.Contains([]string{page.ShowAll, page.ShowRecent, page.ShowPending, page.ShowHeld}, home.Show) {
		return none, &problem{http.StatusNotFound, "unknown list: want recent, pending, or held"}
	}
	// 2. Find the versions.
	all, warnings, state, err := s.listed(x, false)
	if err != nil {
		return none, err
	}
	x.setCacheHeaders(state)
	result := s.lastSync(x)
	recent, pending, held := s.recent(all), s.pending(all, result), result.held(func(syncedItem) bool { return true })
	home.Warnings, home.Reachable = warnings, s.reachable(x.r.Context())
	if !home.SeesPending {
		pending, held = nil, nil
	}
	home.Pending, home.Held = len(pending), len(held)
	if result != nil {
		home.Sync = &page.Sync{Finished: result.finished, Changed: result.count(SyncChanged), Failed: result.count(SyncFailed)}
	}
	// 3. Select the page.
	if home.Show != page.ShowAll {
		selected := map[string][]page.ListedVersion{page.ShowRecent: recent, page.ShowPending: pending, page.ShowHeld: held}[home.Show]
		selected = slices.DeleteFunc(selected, func(l page.ListedVersion) bool { return !matches(l.Host + "/" + l.Name) })
		home.Versions, _ = pageOf(selected, number, providersOnPage)
		home.Total = len(selected)
		return home, nil
	}
	if home.Search == "" && number == 1 {
		home.Recent, _ = pageOf(recent, 1, recentOnHome)
	}
	all = slices.DeleteFunc(all, func(p listed) bool { return !matches(p.address.String()) })
	items, _ := pageOf(all, number, providersOnPage)
	home.Total, home.Providers = len(all), s.provided(x, items, home.SeesPending)
	return home, nil
}

// provided describes the providers on a page. It requests missing data.
func (s *Server) provided(x *exchange, items []listed, seesPending bool) []page.Provided {
	ctx, cancel := context.WithTimeout(x.r.Context(), s.options.timeouts.home)
	defer cancel()
	provided := make([]page.Provided, len(items))
	_ = schedule.All(ctx, maxConcurrentReleases, items, func(ctx context.Context, n int, p listed) error {
		if _, found := s.repos.owners.lookup(p.reference); !found {
			_, _ = s.repos.readOwner(ctx, p.reference) // the page omits missing data
		}
		known := s.repos.known(p.reference)
		provided[n] = page.Provided{ProviderRef: query{shown: p.address}.ref(x.base, "", known.latest), Published: known.published}
		if seesPending {
			provided[n].Pending = len(known.pending)
		}
		return nil
	})
	return provided
}

// recent returns the newest versions of providers, sorted by date.
func (s *Server) recent(all []listed) (recent []page.ListedVersion) {
	for _, p := range all {
		if known := s.repos.known(p.reference); known.published != nil {
			recent = append(recent, p.version(known.latest, known.published))
		}
	}
	slices.SortStableFunc(recent, func(a, b page.ListedVersion) int { return b.Published.Compare(*a.Published) })
	return recent
}

// pending returns the pending versions. If the tags of a provider are unknown, pending
// uses the result of the last sync run.
func (s *Server) pending(all []listed, result *syncResult) (pending []page.ListedVersion) {
	hasTags := map[provider.Address]bool{}
	for _, p := range all {
		known := s.repos.known(p.reference)
		hasTags[p.address] = known.tagged
		for _, v := range known.pending {
			pending = append(pending, p.version(v.String(), nil))
		}
	}
	if result == nil {
		return pending
	}
	for _, i := range result.items {
		if i.State == SyncPending && !hasTags[i.address] {
			pending = append(pending, i.listed())
		}
	}
	return pending
}

// version returns a version of the provider as a list entry.
func (p listed) version(version string, published *time.Time) page.ListedVersion {
	a := p.address
	return page.ListedVersion{
		Path: []string{"providers", a.Host.ForDisplay(), a.Namespace, a.Type, version}, Host: a.Host.ForDisplay(), Name: a.Namespace + "/" + a.Type,
		Version: version, Published: published,
	}
}

// reachable reports whether the registries respond. It returns nil if the registries
// have not responded in time.
func (s *Server) reachable(ctx context.Context) *bool {
	ctx, cancel := context.WithTimeout(ctx, s.options.timeouts.home)
	defer cancel()
	unreachable, err := s.repos.ready(ctx)
	if err != nil {
		return nil
	}
	reachable := unreachable == nil
	return &reachable
}

// known returns the cached data about the provider in a repository.
func (rc *repositoryCache) known(ref template.Reference) owner {
	known, _ := rc.owners.lookup(ref)
	if tags, found := rc.listings.lookup(ref.String()); found {
		latest := newest(tags.versions)
		if latest != known.latest {
			known.published = nil
		}
		known.tagged, known.latest, known.pending = true, latest, tags.pending
	}
	if v, err := provider.ParseVersion(known.latest); known.published == nil && err == nil {
		if i, found := rc.indexes.lookup(contentKey{repository: ref.String(), reference: artifact.Tag(v)}); found {
			known.published = dateOf(i.Index)
		}
	}
	return known
}
