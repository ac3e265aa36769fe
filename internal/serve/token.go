package serve

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// anonymousToken replaces the token in a path if everyone can read everything.
const anonymousToken = "-"

const (
	// tokenAge is the minimum lifetime of an archive link. A client that installs many
	// providers requests all links first, and might resume a failed download much
	// later.
	tokenAge = time.Hour
	// tokenStep is the interval to which the expiry is rounded, so that all replicas
	// return the same links for a few minutes.
	tokenStep = 5 * time.Minute
)

// linkRefused is the message for an invalid link.
const linkRefused = "the link is invalid or has expired; request the provider again"

// archivePath returns the path of a package. The token in the path replaces credentials,
// which clients don't send with requests for archives. The link is valid only for a
// release that is stored under the given address. Clients recognize the format of modules
// by the file name.
func (s *Server) archivePath(x *exchange, v provider.Version, filename string, stored provider.Address) string {
	q, token := x.query, anonymousToken
	if !s.options.Rules().AllowAll() {
		expires := s.options.Now().Truncate(tokenStep).Add(tokenStep + tokenAge)
		token = s.options.Key.Token(access.Archive{Address: q.address, Stored: stored, Version: v, Filename: filename}, x.caller, expires)
	}
	route := "archive"
	if q.isModule() {
		route = "module-archive"
	}
	return pathOf(slices.Concat([]string{route, token, q.host, q.address.Namespace}, strings.Split(q.address.Type, "/"), []string{v.String(), filename})...)
}

// checkToken authorizes a request by the token in its path. It rejects invalid links and
// callers who exceed the rate limit.
func (s *Server) checkToken(x *exchange, token string) (err error) {
	a := access.Archive{Address: x.query.address, Version: x.version, Filename: x.r.PathValue("FILENAME")}
	x.query.byLink = true
	if x.query.caller, err = s.options.Key.Check(token, a); err != nil {
		err = withCause(err, http.StatusForbidden, linkRefused)
	}
	return cmp.Or(s.limit(x, x.query.caller), err)
}

// pathOf returns a path with escaped elements.
func pathOf(elements ...string) string {
	for i, element := range elements {
		elements[i] = "/" + url.PathEscape(element)
	}
	return strings.Join(elements, "")
}
