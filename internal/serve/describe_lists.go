package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
)

// listPage is a page of the providers or modules that match a search.
type listPage struct {
	items    []listed
	total    int
	warnings []string
	// next is the URL of the next page. It is empty on the last page.
	next string
}

// describeProviders returns a page of the providers that match the search. The list
// contains only providers that the caller can read.
func (s *Server) describeProviders(x *exchange) (none api.Providers, err error) {
	p, err := s.describeList(x, false)
	if err != nil {
		return none, err
	}
	found := api.Providers{Providers: []api.ProviderRef{}, Total: p.total, Warnings: p.warnings, Next: p.next}
	for _, i := range p.items {
		found.Providers = append(found.Providers, query{shown: i.address}.ref(x.base, i.reference.String(), s.repos.known(i.reference).latest))
	}
	return found, nil
}

// describeModules is the variant of describeProviders for modules.
func (s *Server) describeModules(x *exchange) (none api.Modules, err error) {
	p, err := s.describeList(x, true)
	if err != nil {
		return none, err
	}
	found := api.Modules{Modules: []api.ModuleRef{}, Total: p.total, Warnings: p.warnings, Next: p.next}
	for _, i := range p.items {
		found.Modules = append(found.Modules, query{shown: i.address}.moduleRef(x.base, i.reference.String(), i.latest))
	}
	return found, nil
}

// describeList returns a page of the providers or modules that match the search and that
// the caller can read.
func (s *Server) describeList(x *exchange, isModule bool) (p listPage, err error) {
	matches, number, err := x.search()
	if err != nil {
		return p, err
	}
	all, warnings, state, err := s.listed(x, isModule)
	if err != nil {
		return p, err
	}
	x.setCacheHeaders(state)
	all = slices.DeleteFunc(all, func(i listed) bool { return !matches(i.address.String()) })
	items, more := pageOf(all, number, providersOnPage)
	p = listPage{items: items, total: len(all), warnings: warnings}
	if more {
		p.next = x.nextPage(number, isModule)
	}
	return p, nil
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
func (x *exchange) nextPage(number int, isModule bool) string {
	query := url.Values{"page": {strconv.Itoa(number + 1)}}
	if search := x.r.URL.Query().Get("search"); search != "" {
		query.Set("search", search)
	}
	return x.base.String() + "/api/v1/" + collectionOf(unknownAddress(isModule)) + "?" + query.Encode()
}

// listed returns the providers or modules that the caller can read in all sets, sorted by
// address.
func (s *Server) listed(x *exchange, isModule bool) (all []listed, warnings []string, state cacheState, err error) {
	add := func(of providerSets, name svchost.Hostname) error {
		v, maxAge := of.providers, s.options.MaxAge
		if isModule {
			v, maxAge = of.modules, max(ownerAge, s.options.MaxAge)
		}
		l, listState, err := s.repos.listSet(x.r.Context(), v, maxAge)
		if err != nil {
			return err
		}
		state, warnings = state.merge(listState), append(warnings, l.warnings...)
		for _, i := range l.entries {
			if !x.caller.MayRead(i.stored) {
				continue
			}
			i.address.Host = cmp.Or(name, i.address.Host)
			all = append(all, i)
		}
		return nil
	}
	err = add(s.anyHost, "")
	for _, h := range s.publishedHosts() {
		if err == nil {
			err = add(s.setsOfHost(h), h.Name)
		}
	}
	if err != nil {
		return nil, nil, state, err
	}
	slices.SortStableFunc(all, func(a, b listed) int { return a.address.Compare(b.address) })
	all = slices.CompactFunc(all, func(a, b listed) bool { return a.address == b.address })
	slices.Sort(warnings)
	return all, slices.Compact(warnings), state, nil
}
