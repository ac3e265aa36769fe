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

// asksForPage tells whether a client would rather have a page than anything else, as
// browsers do.
func asksForPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// pageProviders shows the providers that the caller may read.
func (s *Server) pageProviders(x *exchange) error {
	found, err := s.describeProviders(x)
	if err != nil {
		return err
	}
	at, err := placeOn(x, found.Total, providersOnPage)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Providers(x.r.URL.Query().Get("search"), found, at)
	return s.answerPage(x, text, err)
}

// pageProvider shows the versions of a provider.
func (s *Server) pageProvider(x *exchange) error {
	found, err := s.describeProvider(x)
	if err != nil {
		return err
	}
	at, err := placeOn(x, found.Total, versionsOnPage)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Provider(found, at)
	return s.answerPage(x, text, err)
}

// pageVersion shows a release.
func (s *Server) pageVersion(x *exchange) error {
	at, err := x.page()
	if err != nil {
		return err
	}
	found, err := s.describeVersion(x)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Version(found, at)
	return s.answerPage(x, text, err)
}

// pageComponents shows the components in an SBOM.
func (s *Server) pageComponents(x *exchange) error {
	at, err := x.page()
	if err != nil {
		return err
	}
	r, d, err := s.releaseDocument(x)
	if err != nil {
		return err
	}
	bom, err := s.components(x, r, d)
	if err != nil {
		return err
	}
	base, err := s.base(x.r)
	if err != nil {
		return err
	}
	v := api.Version{Provider: x.at.ref(base), VersionRef: r.summary.VersionRef}
	text, err := s.frame(x).Components(v, x.withURLs(base, []api.Document{d})[0], bom, at)
	return s.answerPage(x, text, err)
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

// answerPage writes a page that was rendered, or says why it was not.
func (s *Server) answerPage(x *exchange, text []byte, err error) error {
	if err != nil {
		return err
	}
	s.personal(x)
	protect(x.Header())
	if x.unchanged(tagOf(text)) {
		return nil
	}
	x.writeBytes(http.StatusOK, page.MediaType, text)
	return nil
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
