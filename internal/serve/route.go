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

// maxPath limits the length of a path in bytes. The longest realistic path is about 500
// bytes long. It contains a token, a version of more than 100 characters, and a type of
// more than 100 characters.
const maxPath = 4 << 10

// route is a kind of request.
type route struct {
	// name identifies the route in logs and metrics.
	name string
	// authorize parses the path and authorizes the caller. It is nil if the route is
	// public.
	authorize func(*Server, *exchange) error
	serve     func(*Server, *exchange) error
}

const (
	routeArchive = "archive"
	routeUnknown = "unknown"
)

// routes maps patterns to routes.
var routes = map[string]*route{
	"/.well-known/terraform.json":                                                              {"discovery", nil, (*Server).discovery},
	"/v1/providers/{NAMESPACE}/{TYPE}/versions":                                                {"versions", (*Server).authorize, (*Server).versions},
	"/v1/providers/{NAMESPACE}/{TYPE}/{VERSION}/download/{OS}/{ARCH}":                          {"package", (*Server).authorize, (*Server).pkg},
	"/v1/documents/{TOKEN}/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}/{FILENAME}/{DOCUMENT}":          {"document", (*Server).authorize, (*Server).document},
	"/mirror/{HOST}/{NAMESPACE}/{TYPE}/index.json":                                             {"mirror-index", (*Server).authorize, (*Server).mirrorIndex},
	"/mirror/{HOST}/{NAMESPACE}/{TYPE}/{FILE}":                                                 {"mirror-version", (*Server).authorize, (*Server).mirrorVersion},
	"/archive/{TOKEN}/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}/{FILENAME}":                          {routeArchive, (*Server).authorize, (*Server).archive},
	"/archive/{TOKEN}/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}/{REASON}/{FILENAME}":                 {routeArchive, (*Server).authorize, (*Server).archive},
	"/v1/modules/{NAMESPACE}/{NAME}/{SYSTEM}/versions":                                         {"module-versions", (*Server).authorize, (*Server).moduleVersions},
	"/v1/modules/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}/download":                               {"module-download", (*Server).authorize, (*Server).moduleDownload},
	"/v1/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/versions":                                  {"module-versions", (*Server).authorize, (*Server).moduleVersions},
	"/v1/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}/download":                        {"module-download", (*Server).authorize, (*Server).moduleDownload},
	"/module-archive/{TOKEN}/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}/{FILENAME}":          {"module-archive", (*Server).authorize, (*Server).archive},
	"/module-archive/{TOKEN}/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}/{REASON}/{FILENAME}": {"module-archive", (*Server).authorize, (*Server).archive},
	"/api/v1/openapi.json":                                                            {"api-openapi", nil, (*Server).apiDescription},
	"/api/v1/providers":                                                               {"api-providers", (*Server).identifyCaller, asJSON((*Server).describeProviders)},
	"/api/v1/providers/{HOST}/{NAMESPACE}/{TYPE}":                                     {"api-provider", (*Server).authorize, asJSON(converted((*Server).describeVersions, (*Server).provider))},
	"/api/v1/providers/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}":                           {"api-version", (*Server).authorize, asJSON(converted((*Server).describeRelease, (*Server).version))},
	"/api/v1/providers/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}/documents/{DIGEST}":        {"api-document", (*Server).authorize, (*Server).apiDocument},
	"/api/v1/modules":                                                                 {"api-modules", (*Server).identifyCaller, asJSON((*Server).describeModules)},
	"/api/v1/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}":                              {"api-module", (*Server).authorize, asJSON(converted((*Server).describeVersions, (*Server).module))},
	"/api/v1/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}":                    {"api-module-version", (*Server).authorize, asJSON(converted((*Server).describeRelease, (*Server).moduleRelease))},
	"/api/v1/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}/documents/{DIGEST}": {"api-module-document", (*Server).authorize, (*Server).apiDocument},
	"/modules": {"page-modules", (*Server).identifyCaller, asPage((*Server).describeModules, renderModules)},
	"/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}":           {"page-module", (*Server).authorize, asPage((*Server).describeVersions, (*Server).renderModule)},
	"/modules/{HOST}/{NAMESPACE}/{NAME}/{SYSTEM}/{VERSION}": {"page-module-version", (*Server).authorize, asPage((*Server).describeRelease, (*Server).renderModuleVersion)},
	"/{$}":                                 {"page-providers", (*Server).identifyCaller, asPage((*Server).describeHome, renderHome)},
	"/providers/{HOST}/{NAMESPACE}/{TYPE}": {"page-provider", (*Server).authorize, asPage((*Server).describeVersions, (*Server).renderProvider)},
	"/providers/{HOST}/{NAMESPACE}/{TYPE}/{VERSION}": {"page-version", (*Server).authorize, asPage((*Server).describeRelease, (*Server).renderVersion)},
	"/static/{HASH}/{FILE}":                          {"static", nil, (*Server).static},
	"/login":                                         {"login", (*Server).identifyCaller, (*Server).login},
	"/healthz":                                       {"health", nil, (*Server).health},
	"/readyz":                                        {"ready", nil, (*Server).ready},
	"/":                                              {routeUnknown, nil, (*Server).unknown},
}

// newMux returns a mux that sets the route and the path values of an exchange.
func newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, r := range routes {
		mux.Handle(pattern, r)
	}
	return mux
}

// ServeHTTP implements [http.Handler]. It only sets the route of an exchange.
func (r *route) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if x, ok := w.(*exchange); ok {
		x.route, x.r = r, request
	}
}

// find sets the route of an exchange based on the elements of its path.
func (s *Server) find(x *exchange, elements []string) {
	request := x.r.WithContext(x.r.Context()) // creates a shallow copy
	request.URL = &url.URL{Path: "/" + strings.Join(elements, "/"), RawQuery: x.r.URL.RawQuery}
	s.mux.ServeHTTP(x, request)
	elements = slices.Clone(elements)
	if token := x.r.PathValue("TOKEN"); token != "" && token != anonymousToken {
		elements[slices.Index(elements[1:], token)+1] = "…" // the token grants access, so it must not be logged
	}
	x.event.Route, x.event.Path = x.route.name, "/"+strings.Join(elements, "/")
}

// split returns the unescaped elements of the path that the client sent. It rejects
// elements that a proxy or a file system could interpret differently: dots, empty
// elements, and escaped slashes.
func split(u *url.URL) ([]string, error) {
	path := u.EscapedPath()
	if len(path) > maxPath {
		return nil, &problem{http.StatusRequestURITooLong, fmt.Sprintf("the path exceeds %d bytes", maxPath)}
	}
	bad := func(reason string) ([]string, error) {
		return nil, &problem{http.StatusBadRequest, "the path " + reason}
	}
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return bad("does not start with a slash")
	}
	elements := strings.Split(rest, "/")
	for i, element := range elements {
		text, err := url.PathUnescape(element)
		switch {
		case err != nil || !utf8.ValidString(text):
			return bad("contains an invalid escape")
		case text == "." || text == ".." || text == "" && len(elements) > 1:
			return bad("contains an empty element, . or ..")
		case strings.ContainsAny(text, `/\`) || strings.ContainsFunc(text, unicode.IsControl):
			return bad("contains an escaped slash, a backslash, or a control character")
		}
		elements[i] = text
	}
	return elements, nil
}

// pathElements returns the elements of a URL's path without the base path, which a
// proxy might have removed. Only the path of the home page can end in a slash.
func (s *Server) pathElements(u *url.URL) ([]string, error) {
	base := s.options.BaseURL
	if base != nil && strings.TrimSuffix(u.Path, "/") == strings.TrimRight(base.Path, "/") {
		return []string{""}, nil
	}
	elements, err := split(u)
	if err != nil || base == nil {
		return elements, err
	}
	prefix := strings.FieldsFunc(base.Path, func(r rune) bool { return r == '/' })
	if len(elements) >= len(prefix) && slices.Equal(elements[:len(prefix)], prefix) {
		elements = elements[len(prefix):]
	}
	return elements, nil
}
