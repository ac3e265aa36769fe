package serve

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// providersOnPage is how many providers are on a page.
const providersOnPage = 50

// apiDescription answers with the document that describes the API.
func (s *Server) apiDescription(x *exchange) error {
	x.w.Header().Set("Cache-Control", "public, no-cache")
	x.writeBytes(http.StatusOK, "application/json", api.OpenAPI())
	return nil
}

// apiProviders answers which providers there are that the caller may see.
func (s *Server) apiProviders(x *exchange) error {
	found, how, err := s.listProviders(x)
	if err != nil {
		return err
	}
	return s.answerTagged(x, found, how)
}

// listed is a provider of a list.
type listed struct {
	shownPlace
	reference template.Reference
}

// listProviders gives a page of the providers that the caller may see, and that the
// request searches for.
func (s *Server) listProviders(x *exchange) (api.Providers, state, error) {
	none := api.Providers{Providers: []api.ProviderRef{}}
	// 1. Who asks for what.
	if err := s.identify(x); err != nil {
		return none, state{}, err
	}
	search := x.r.URL.Query().Get("search")
	if len(search) > maxSearch {
		return none, state{}, &problem{http.StatusBadRequest, "the search has more than " + strconv.Itoa(maxSearch) + " bytes"}
	}
	page, err := x.page()
	if err != nil {
		return none, state{}, err
	}
	base, err := s.baseText(x)
	if err != nil {
		return none, state{}, err
	}
	// 2. What there is.
	all, warnings, how, err := s.shelved(x)
	if err != nil {
		return none, how, err
	}
	all = slices.DeleteFunc(all, func(p listed) bool { return !isFound(p, search) })
	// 3. The page of it.
	found := api.Providers{Providers: none.Providers, Total: len(all), Warnings: warnings}
	items, more := pageOf(all, page, providersOnPage)
	for _, p := range items {
		ref := p.ref(base)
		ref.Repository, ref.Latest = p.reference.String(), s.browse.latest(p.reference)
		found.Providers = append(found.Providers, ref)
	}
	if more {
		found.Next = base + "/api/v1/providers?" + query(search, page+1)
	}
	return found, how, nil
}

func query(search string, page int) string {
	q := url.Values{"page": {strconv.Itoa(page)}}
	if search != "" {
		q.Set("search", search)
	}
	return q.Encode()
}

// isFound tells whether all words of a search are in an address.
func isFound(p listed, search string) bool {
	address := strings.ToLower(p.shown.String())
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(address, word) {
			return false
		}
	}
	return true
}

// shelved lists the providers of all views that the caller may see, sorted by address.
func (s *Server) shelved(x *exchange) (all []listed, warnings []string, how state, err error) {
	add := func(v *view, name svchost.Hostname) error {
		stock, learned, err := s.browse.shelf(x.r.Context(), v)
		if err != nil {
			return err
		}
		how, warnings = how.merge(learned), append(warnings, stock.warnings...)
		for _, e := range stock.entries {
			if !x.caller.May(e.stored) {
				continue
			}
			p := shownPlace{place{view: v, address: e.address}, e.address}
			if name != "" {
				p.shown.Host = name
			}
			all = append(all, listed{p, e.reference})
		}
		return nil
	}
	err = add(s.mirrored, "")
	for _, h := range s.publishedHosts() {
		if err != nil {
			return nil, nil, how, err
		}
		err = add(s.viewOfHost(h), h.Name)
	}
	slices.SortStableFunc(all, func(a, b listed) int { return a.shown.Compare(b.shown) })
	all = slices.CompactFunc(all, func(a, b listed) bool { return a.shown == b.shown })
	slices.Sort(warnings)
	return all, slices.Compact(warnings), how, err
}
