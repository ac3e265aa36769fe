package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
)

// isPagePath reports whether a path belongs to the web pages. Errors for these paths
// are also shown as pages.
func isPagePath(elements []string) bool {
	return len(elements) > 0 && slices.Contains([]string{"", "providers", "modules", "login"}, elements[0])
}

// prefersHTML reports whether a client accepts HTML, as browsers do.
func prefersHTML(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// asPage returns a handler that calls describe and renders the result as a page. number
// is the page number in a list.
func asPage[T any](describe func(*Server, *exchange) (T, error), render func(s *Server, f page.Frame, x *exchange, found T, number int) ([]byte, error)) func(*Server, *exchange) error {
	return responding(page.MediaType, describe, func(s *Server, x *exchange, found T) ([]byte, error) {
		number, err := x.page()
		if err != nil {
			return nil, err
		}
		setPageHeaders(x.Header())
		return render(s, s.frame(x), x, found, number)
	})
}

func renderHome(_ *Server, f page.Frame, _ *exchange, found page.Home, number int) ([]byte, error) {
	position, err := paginate(number, found.Total, providersOnPage)
	if err != nil {
		return nil, err
	}
	return f.Home(found, position)
}

func renderModules(_ *Server, f page.Frame, x *exchange, found api.Modules, number int) ([]byte, error) {
	position, err := paginate(number, found.Total, providersOnPage)
	if err != nil {
		return nil, err
	}
	return f.ModuleList(x.r.URL.Query().Get("search"), found, position)
}

// static responds with a static asset. If the path contains the hash of a different
// program version, as during a rolling update of replicas, the asset must not be
// cached.
func (s *Server) static(x *exchange) error {
	asset, found := page.OpenAsset(x.r.PathValue("FILE"))
	if !found {
		return s.unknown(x)
	}
	h := x.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if x.r.PathValue("HASH") == page.Hash() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	x.writeBytes(http.StatusOK, asset.MediaType, asset.Content)
	return nil
}

// login requests credentials if the request has none. Otherwise, it redirects to the
// home page.
func (s *Server) login(x *exchange) error {
	if x.caller.Name == "" && !s.options.Rules().AllowAll() {
		return &problem{http.StatusUnauthorized, "not logged in"}
	}
	h := x.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", s.frame(x).Link(""))
	x.WriteHeader(http.StatusSeeOther)
	return nil
}

// frame returns the properties that all pages share.
func (s *Server) frame(x *exchange) page.Frame {
	base, err := s.base(x.r)
	if err != nil {
		base = &url.URL{} // the page that reports this error needs no URL
	}
	return page.Frame{
		Site: s.options.Title, Root: base.EscapedPath(), Caller: x.caller.Name, Login: !s.options.Rules().AllowAll(),
		Modules: len(s.setsOf(x.r).modules.from) > 0, Now: s.options.Now(),
	}
}

// paginate returns the position of a page in a list. It returns an error for a page
// beyond the last page.
func paginate(number, total, size int) (page.Pagination, error) {
	pages := max(1, (total+size-1)/size)
	if number > pages {
		return page.Pagination{}, &problem{http.StatusNotFound, fmt.Sprintf("page %d does not exist: the last page is %d", number, pages)}
	}
	return page.Pagination{Page: number, Pages: pages}, nil
}

// writePage responds with an error page.
func (s *Server) writePage(x *exchange, status int, text string) {
	setPageHeaders(x.Header())
	rendered, err := s.frame(x).Problem(status, text)
	if err != nil {
		rendered = []byte(http.StatusText(status)) // not expected, because tests execute all templates
	}
	x.Header().Set("Cache-Control", "no-store")
	x.writeBytes(status, page.MediaType, rendered)
}

// setPageHeaders sets the security headers of a page.
func setPageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers without support for frame-ancestors
}
