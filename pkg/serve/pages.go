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

// isPage tells whether a path is one of the pages for people, which have errors of
// their own form.
func isPage(words []string) bool {
	return slices.Contains([]string{"", "providers", "login"}, words[0])
}

// asksForPage tells whether a client would rather have a page than anything else, as
// browsers do.
func asksForPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// pageProviders shows the providers that the caller may see, and that are searched for.
func (s *Server) pageProviders(x *exchange) error {
	found, how, err := s.listProviders(x)
	if err != nil {
		return err
	}
	at, err := placeOn(x, found.Total, providersOnPage)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Providers(x.r.URL.Query().Get("search"), found, at)
	return s.answerPage(x, text, err, how)
}

// pageProvider shows the versions of a provider.
func (s *Server) pageProvider(x *exchange) error {
	found, how, err := s.describeProvider(x)
	if err != nil {
		return err
	}
	at, err := placeOn(x, found.Total, versionsOnPage)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Provider(found, at)
	return s.answerPage(x, text, err, how)
}

// pageVersion shows a release.
func (s *Server) pageVersion(x *exchange) error {
	at, err := x.page()
	if err != nil {
		return err
	}
	found, how, err := s.describeVersion(x)
	if err != nil {
		return err
	}
	text, err := s.frame(x).Version(found, at)
	return s.answerPage(x, text, err, how)
}

// pageComponents shows what an SBOM lists.
func (s *Server) pageComponents(x *exchange) error {
	at, err := x.page()
	if err != nil {
		return err
	}
	r, d, err := s.documentAt(x)
	if err != nil {
		return err
	}
	bom, err := s.componentsOf(x, r, d)
	if err != nil {
		return err
	}
	base, err := s.baseText(x)
	if err != nil {
		return err
	}
	v := api.Version{Provider: r.at.ref(base), VersionRef: r.summary.VersionRef}
	text, err := s.frame(x).Components(v, r.withURLs(d.Document, base), bom, at)
	return s.answerPage(x, text, err, r.how)
}

// static answers with an asset of the pages. One of another version of this program is
// asked for while replicas are replaced: it gets ours, and is not to keep it.
func (s *Server) static(x *exchange) error {
	asset, found := page.OpenAsset(x.values["FILE"])
	if !found {
		return s.unknown(x)
	}
	h := x.w.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if x.values["HASH"] == page.Hash() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	x.writeBytes(http.StatusOK, asset.MediaType, asset.Content)
	return nil
}

// login asks for a login where there is none, and leads to the first page.
func (s *Server) login(x *exchange) error {
	if err := s.identify(x); err != nil {
		return err
	}
	if x.caller.Name == "" && !s.options.Rules().Open() {
		return &problem{http.StatusUnauthorized, "nobody is logged in"}
	}
	h := x.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", s.frame(x).Link(""))
	x.w.WriteHeader(http.StatusSeeOther)
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
func (s *Server) answerPage(x *exchange, text []byte, err error, how state) error {
	if err != nil {
		return err
	}
	x.know(how)
	s.personal(x)
	protect(x.w.Header())
	if x.unchanged(tagOf(text)) {
		return nil
	}
	x.writeBytes(http.StatusOK, page.MediaType, text)
	return nil
}

// writePage writes an error as a page. Browsers ask for a login where it wants one.
func (s *Server) writePage(x *exchange, status int, text string) {
	protect(x.w.Header())
	rendered, err := s.frame(x).Problem(status, text)
	if err != nil {
		rendered = []byte(http.StatusText(status)) // the templates are tested
	}
	x.w.Header().Set("Cache-Control", "no-store")
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
