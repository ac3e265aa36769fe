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

// isPage reports whether a path is below those of the pages for people, whose errors are
// pages as well.
func isPage(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{"", "providers", "login"}, words[0])
}

// asksForPage reports whether a client would rather have a page than anything else, as
// browsers do.
func asksForPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// asPage returns a handler that shows a description as a page.
func asPage[T any](describe func(*Server, *exchange) (T, error), render func(*exchange, page.Frame, T) ([]byte, error)) func(*Server, *exchange) error {
	return func(s *Server, x *exchange) (err error) {
		if x.base, err = s.base(x.r); err != nil {
			return err
		}
		found, err := describe(s, x)
		if err != nil {
			return err
		}
		text, err := render(x, s.frame(x), found)
		if err != nil {
			return err
		}
		s.personal(x)
		protect(x.Header())
		if !x.unchanged(tagOf(text)) {
			x.writeBytes(http.StatusOK, page.MediaType, text)
		}
		return nil
	}
}

func renderProviders(x *exchange, f page.Frame, found api.Providers) ([]byte, error) {
	at, err := placeOn(x, found.Total, providersOnPage)
	if err != nil {
		return nil, err
	}
	return f.Providers(x.r.URL.Query().Get("search"), found, at)
}

func renderProvider(x *exchange, f page.Frame, found api.Provider) ([]byte, error) {
	at, err := placeOn(x, found.Total, versionsOnPage)
	if err != nil {
		return nil, err
	}
	return f.Provider(found, at)
}

func renderVersion(x *exchange, f page.Frame, found api.Version) ([]byte, error) {
	at, err := x.page()
	if err != nil {
		return nil, err
	}
	return f.Version(found, at)
}

func renderComponents(x *exchange, f page.Frame, found components) ([]byte, error) {
	at, err := x.page()
	if err != nil {
		return nil, err
	}
	return f.Components(found.version, found.document, found.SBOM, at)
}

// static answers with an asset of the pages. One of another version of this program is
// asked for while replicas are replaced: it gets ours, and is not to keep it.
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

// login asks for a login where there is none, and leads to the first page.
func (s *Server) login(x *exchange) error {
	if x.caller.Name == "" && !s.options.Rules().Open() {
		return &problem{http.StatusUnauthorized, "nobody is logged in"}
	}
	h := x.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", s.frame(x).Link(""))
	x.WriteHeader(http.StatusSeeOther)
	return nil
}

// frame is what all pages of an answer have in common.
func (s *Server) frame(x *exchange) page.Frame {
	base, err := s.base(x.r)
	if err != nil {
		base = &url.URL{} // a page about that is all that comes of it
	}
	return page.Frame{Root: base.EscapedPath(), Caller: x.caller.Name, Login: !s.options.Rules().Open()}
}

// placeOn says which page of a list is asked for. One that is not there is no page,
// unless it is the first.
func placeOn(x *exchange, total, size int) (page.Place, error) {
	at, err := x.page()
	pages := max(1, (total+size-1)/size)
	if err == nil && at > pages {
		err = &problem{http.StatusNotFound, fmt.Sprintf("there is no page %d of this: the last is %d", at, pages)}
	}
	return page.Place{Page: at, Pages: pages}, err
}

// writePage writes an error as a page. Browsers ask for a login where it wants one.
func (s *Server) writePage(x *exchange, status int, text string) {
	protect(x.Header())
	rendered, err := s.frame(x).Problem(status, text)
	if err != nil {
		rendered = []byte(http.StatusText(status)) // the templates are tested
	}
	x.Header().Set("Cache-Control", "no-store")
	x.writeBytes(status, page.MediaType, rendered)
}

// protect tells browsers what a page needs, which is hardly anything.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for what knows no frame-ancestors
}
