package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath bounds a path, in bytes. The longest real ones have some 500: a version and
// a type of more than a hundred characters each, and a token.
const maxPath = 4 << 10

// The kinds of requests.
const (
	routeDiscovery     = "discovery"
	routeVersions      = "versions"
	routePackage       = "package"
	routeDocument      = "document"
	routeMirrorIndex   = "mirror-index"
	routeMirrorVersion = "mirror-version"
	routeArchive       = "archive"
	routeProviders     = "api-providers"
	routeProvider      = "api-provider"
	routeVersion       = "api-version"
	routeEvidence      = "api-document"
	routeComponents    = "api-components"
	routeOpenAPI       = "api-openapi"
	routePageProviders = "page-providers"
	routePageProvider  = "page-provider"
	routePageVersion   = "page-version"
	routePageBOM       = "page-components"
	routeStatic        = "static"
	routeLogin         = "login"
	routeHealth        = "health"
	routeReady         = "ready"
	routeUnknown       = "unknown"
)

// route is a kind of request, and what of the path it needs.
type route struct {
	name string
	// words is the path, those in capitals standing for anything.
	words []string
	serve func(s *Server, x *exchange) error
}

// routes are all that there are.
var routes = []route{
	{routeDiscovery, []string{".well-known", "terraform.json"}, (*Server).discovery},
	{routeVersions, []string{"v1", "providers", "NAMESPACE", "TYPE", "versions"}, (*Server).versions},
	{routePackage, []string{"v1", "providers", "NAMESPACE", "TYPE", "VERSION", "download", "OS", "ARCH"}, (*Server).pkg},
	{routeDocument, []string{"v1", "documents", "TOKEN", "HOST", "NAMESPACE", "TYPE", "VERSION", "FILENAME", "DOCUMENT"}, (*Server).document},
	{routeMirrorIndex, []string{"mirror", "HOST", "NAMESPACE", "TYPE", "index.json"}, (*Server).mirrorIndex},
	{routeMirrorVersion, []string{"mirror", "HOST", "NAMESPACE", "TYPE", "VERSION.json"}, (*Server).mirrorVersion},
	{routeArchive, []string{"archive", "TOKEN", "HOST", "NAMESPACE", "TYPE", "VERSION", "FILENAME"}, (*Server).archive},
	{routeOpenAPI, []string{"api", "v1", "openapi.json"}, (*Server).apiDescription},
	{routeProviders, []string{"api", "v1", "providers"}, (*Server).apiProviders},
	{routeProvider, []string{"api", "v1", "providers", "HOST", "NAMESPACE", "TYPE"}, (*Server).apiProvider},
	{routeVersion, []string{"api", "v1", "providers", "HOST", "NAMESPACE", "TYPE", "VERSION"}, (*Server).apiVersion},
	{routeEvidence, []string{"api", "v1", "providers", "HOST", "NAMESPACE", "TYPE", "VERSION", "documents", "DIGEST"}, (*Server).apiDocument},
	{routeComponents, []string{"api", "v1", "providers", "HOST", "NAMESPACE", "TYPE", "VERSION", "components", "DIGEST"}, (*Server).apiComponents},
	{routePageProviders, []string{""}, (*Server).pageProviders},
	{routePageProvider, []string{"providers", "HOST", "NAMESPACE", "TYPE"}, (*Server).pageProvider},
	{routePageVersion, []string{"providers", "HOST", "NAMESPACE", "TYPE", "VERSION"}, (*Server).pageVersion},
	{routePageBOM, []string{"providers", "HOST", "NAMESPACE", "TYPE", "VERSION", "components", "DIGEST"}, (*Server).pageComponents},
	{routeStatic, []string{"static", "HASH", "FILE"}, (*Server).static},
	{routeLogin, []string{"login"}, (*Server).login},
	{routeArchive, []string{"archive", "TOKEN", "HOST", "NAMESPACE", "TYPE", "VERSION", "WHY", "FILENAME"}, (*Server).archive},
	{routeHealth, []string{"healthz"}, (*Server).health},
	{routeReady, []string{"readyz"}, (*Server).ready},
}

// match gives what the words in capitals stand for; false when the path is another.
func (r route) match(path []string) (map[string]string, bool) {
	if len(path) != len(r.words) {
		return nil, false
	}
	values := map[string]string{}
	for i, word := range r.words {
		name, ending, _ := strings.Cut(word, ".")
		switch {
		case word == path[i]:
		case name == "" || strings.ToUpper(name) != name:
			return nil, false
		case ending == "":
			values[name] = path[i]
		default:
			value, found := strings.CutSuffix(path[i], "."+ending)
			if !found {
				return nil, false
			}
			values[name] = value
		}
	}
	return values, true
}

// find gives the route of a path below the base path.
func find(path []string) (route, map[string]string) {
	for _, r := range routes {
		if values, ok := r.match(path); ok {
			return r, values
		}
	}
	return route{name: routeUnknown, serve: (*Server).unknown}, nil
}

// split takes a path apart as it was sent. What a proxy or a file system could read
// in two ways is refused: dots, empty words, slashes that are written as %2F.
func split(u *url.URL) ([]string, error) {
	path := u.EscapedPath()
	if len(path) > maxPath {
		return nil, &problem{http.StatusRequestURITooLong, fmt.Sprintf("the path has more than %d bytes", maxPath)}
	}
	bad := func(why string) ([]string, error) { return nil, &problem{http.StatusBadRequest, "the path " + why} }
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return bad("does not begin with a slash")
	}
	words := strings.Split(rest, "/")
	for i, word := range words {
		text, err := url.PathUnescape(word)
		switch {
		case err != nil || !utf8.ValidString(text):
			return bad("has an escape that is no text")
		case text == "." || text == ".." || text == "" && len(words) > 1:
			return bad("has an empty element, or one of dots")
		case strings.ContainsAny(text, `/\`) || strings.ContainsFunc(text, unicode.IsControl):
			return bad("has a slash, backslash or control character within an element")
		}
		words[i] = text
	}
	return words, nil
}

// below takes the base path away, if it is there: a proxy may have done so.
func below(base string, words []string) []string {
	prefix := strings.FieldsFunc(base, func(r rune) bool { return r == '/' })
	if len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix) {
		return words[len(prefix):]
	}
	return words
}

// shown is a path for access lines: what stands for a login is left out.
func shown(r route, words []string) string {
	words = slices.Clone(words)
	for i, word := range r.words {
		if word == "TOKEN" && words[i] != anybody {
			words[i] = "…"
		}
	}
	return "/" + strings.Join(words, "/")
}
