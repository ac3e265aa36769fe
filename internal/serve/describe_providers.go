package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"golang.org/x/sync/errgroup"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// describeProviders returns a page of the providers that match the search. The list
// contains only providers that the caller can read.
func (s *Server) describeProviders(x *exchange) (none api.Providers, err error) {
	// 1. Parse the request.
	matches, number, err := x.search()
	if err != nil {
		return none, err
	}
	// 2. Find the providers.
	all, warnings, state, err := s.listed(x)
	if err != nil {
		return none, err
	}
	all = slices.DeleteFunc(all, func(p listedProvider) bool { return !matches(p.address.String()) })
	// 3. Return the page.
	found := api.Providers{Providers: []api.ProviderRef{}, Total: len(all), Warnings: warnings}
	items, more := pageOf(all, number, providersOnPage)
	for _, p := range items {
		ref := providerQuery{shown: p.address}.ref(x.base)
		ref.Repository, ref.Latest = p.reference.String(), s.repos.latest(p.reference)
		found.Providers = append(found.Providers, ref)
	}
	if more {
		found.Next = x.nextPage("/api/v1/providers", number)
	}
	x.setCacheHeaders(state)
	return found, nil
}

// search returns the page number of a request, and a function that reports whether an
// address matches the search of the request.
func (x *exchange) search() (matches func(address string) bool, number int, err error) {
	search := x.r.URL.Query().Get("search")
	if len(search) > page.MaxSearch {
		return nil, 0, &problem{http.StatusBadRequest, fmt.Sprintf("the search exceeds %d bytes", page.MaxSearch)}
	}
	terms := strings.Fields(strings.ToLower(search))
	number, err = x.page()
	return func(address string) bool {
		address = strings.ToLower(address)
		return !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(address, term) })
	}, number, err
}

// nextPage returns the URL of the next page of a list, for the same search.
func (x *exchange) nextPage(path string, number int) string {
	query := url.Values{"page": {strconv.Itoa(number + 1)}}
	if search := x.r.URL.Query().Get("search"); search != "" {
		query.Set("search", search)
	}
	return x.base.String() + path + "?" + query.Encode()
}

// listed returns the providers that the caller can read in all views, sorted by
// address.
func (s *Server) listed(x *exchange) (all []listedProvider, warnings []string, state cacheState, err error) {
	add := func(v *view, name svchost.Hostname) error {
		list, listState, err := s.repos.providers(x.r.Context(), v)
		if err != nil {
			return err
		}
		state, warnings = state.merge(listState), append(warnings, list.warnings...)
		for _, p := range list.providers {
			if !x.caller.MayRead(p.stored) {
				continue
			}
			p.address.Host = cmp.Or(name, p.address.Host)
			all = append(all, p)
		}
		return nil
	}
	err = add(s.mirrored, "")
	for _, h := range s.publishedHosts() {
		if err == nil {
			err = add(s.viewOfHost(h), h.Name)
		}
	}
	if err != nil {
		return nil, nil, state, err
	}
	slices.SortStableFunc(all, func(a, b listedProvider) int { return a.address.Compare(b.address) })
	all = slices.CompactFunc(all, func(a, b listedProvider) bool { return a.address == b.address })
	slices.Sort(warnings)
	return all, slices.Compact(warnings), state, nil
}

// describeProvider returns a page of a provider's versions.
func (s *Server) describeProvider(x *exchange) (none api.Provider, err error) {
	number, err := x.page()
	if err != nil {
		return none, err
	}
	known, state, err := s.repos.list(x.r.Context(), x.query)
	if err != nil {
		return none, err
	}
	x.setCacheHeaders(state)
	x.event.Repository = known.repo.String()
	items, more := pageOf(known.versions, number, versionsOnPage)
	found := api.Provider{
		ProviderRef: x.query.ref(x.base), Total: len(known.versions), Stale: state.stale != nil,
		Versions: make([]api.VersionRef, len(items)), Installation: x.query.installation(x.base),
	}
	found.Repository, found.Latest = known.repo.String(), newest(known.versions)
	s.concurrently(x.r.Context(), len(items), func(ctx context.Context, n int) {
		found.Versions[n] = s.versionRef(ctx, x.query, known, items[n])
		found.Versions[n].URL = x.query.url(x.base, found.Versions[n].Version)
	})
	s.addUnreleased(x, &found, known)
	if more {
		found.Next = x.query.url(x.base) + "?page=" + strconv.Itoa(number+1)
	}
	return found, nil
}

// concurrently calls do for each index below n. It returns after the response timeout at the latest.
// Later results are cached for the next caller.
func (s *Server) concurrently(ctx context.Context, n int, do func(ctx context.Context, n int)) {
	ctx, cancel := context.WithTimeout(ctx, s.options.timeouts.response)
	defer cancel()
	group := errgroup.Group{}
	group.SetLimit(maxConcurrentReleases)
	for i := range n {
		group.Go(func() error {
			do(ctx, i)
			return nil
		})
	}
	_ = group.Wait() // each result contains its own error
}

func (s *Server) versionRef(ctx context.Context, q providerQuery, known listing, v provider.Version) api.VersionRef {
	i, _, err := s.repos.indexIn(ctx, q, known, v, max(reportAge, s.options.MaxAge))
	if problem := brokenProblem(err); problem != "" {
		return brokenSummary(v, problem).VersionRef
	}
	var found summary
	if err == nil {
		found, err = s.repos.checkedSummary(ctx, q, i)
	}
	if err != nil {
		_, text := statusOf(err)
		return api.VersionRef{Version: v.String(), Tag: artifact.Tag(v), Platforms: []string{}, Status: api.StatusUnknown, Problem: text}
	}
	return found.VersionRef
}

// publishedHosts returns the hosts in the access rules.
func (s *Server) publishedHosts() []access.Host {
	if rules := s.options.Rules(); rules != nil {
		return rules.Hosts
	}
	return nil
}

// ref returns a reference to a provider, which includes its URL in the API.
func (p providerQuery) ref(base *url.URL) api.ProviderRef {
	return api.ProviderRef{
		Address: p.shown.String(), Host: p.shown.Host.ForDisplay(), Namespace: p.shown.Namespace, Type: p.shown.Type,
		URL: p.url(base),
	}
}

// url returns the URL of a provider in the API, with additional path elements.
func (p providerQuery) url(base *url.URL, more ...string) string {
	return base.String() + "/api/v1/providers" + pathOf(append([]string{p.shown.Host.ForDisplay(), p.shown.Namespace, p.shown.Type}, more...)...)
}

// installation returns the CLI configuration for installing a provider from this
// server. It is empty for a published host, which requires no configuration, and for a
// host with a port, which network mirrors don't support.
func (p providerQuery) installation(base *url.URL) string {
	if p.as != "" || strings.Contains(string(p.shown.Host), ":") {
		return ""
	}
	pattern, err := provider.ParsePattern(p.shown.String())
	if err != nil {
		return ""
	}
	return cliconfig.NetworkMirrorBlock(base.String()+"/mirror/", pattern)
}
