package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// anonymousToken replaces the token in a path if everyone can read everything.
const anonymousToken = "-"

const (
	// tokenAge is the minimum lifetime of an archive link. A client that installs many
	// providers requests all links first. It might resume a failed download much later.
	tokenAge = time.Hour
	// tokenStep is the interval to which the expiry is rounded, so that all replicas
	// return the same links for a few minutes.
	tokenStep = 5 * time.Minute
)

// linkRefused is the message for an invalid link.
const linkRefused = "the link is invalid or has expired; request the provider again"

// tokenPath returns the part of a package's path that follows /archive or
// /v1/documents. The token in the path replaces credentials, which clients don't send
// with these requests. The link is valid only for a release that is stored under the
// given address.
func (s *Server) tokenPath(x *exchange, stored provider.Address, filename string) string {
	token := s.linkToken(x, access.Archive{Address: x.query.address, Stored: stored, Version: x.version, Filename: filename})
	return pathOf(token, x.query.host(), x.query.address.Namespace, x.query.address.Type, x.version.String(), filename)
}

// linkToken returns the path element that grants the caller access to an archive.
func (s *Server) linkToken(x *exchange, a access.Archive) string {
	if s.options.Rules().AllowAll() {
		return anonymousToken
	}
	expires := s.options.Now().Truncate(tokenStep).Add(tokenStep + tokenAge)
	return s.options.Key.Token(a, x.caller, expires)
}

// checkToken returns the caller to whom a link was issued. It rejects invalid links and
// callers who exceed the rate limit.
func (s *Server) checkToken(x *exchange, token string, a access.Archive) (access.Caller, error) {
	caller, err := s.options.Key.Check(token, a)
	if err != nil {
		err = because(err, http.StatusForbidden, linkRefused)
	}
	return caller, cmp.Or(s.limit(x, caller), err)
}

// pathOf returns a path with escaped elements.
func pathOf(elements ...string) string {
	for i, element := range elements {
		elements[i] = "/" + url.PathEscape(element)
	}
	return strings.Join(elements, "")
}

// authorizeByToken authorizes a request for a package by the token in its path. If the
// token is the anonymous token, or no access rules are configured, it authorizes the
// caller in the same way as for other requests.
func (s *Server) authorizeByToken(x *exchange) error {
	// 1. Parse the provider and the version.
	if name := x.r.PathValue("DOCUMENT"); name != "" && name != documentSums && name != documentSignature {
		return s.unknown(x)
	}
	err := x.readVersion()
	switch {
	case err != nil:
	case x.r.PathValue("HOST") == ownHost:
		err = s.locatePublished(x)
	default:
		err = s.locateMirrored(x)
	}
	if err != nil {
		return err
	}
	// 2. Authorize the caller.
	token, filename := x.r.PathValue("TOKEN"), x.r.PathValue("FILENAME")
	if token == anonymousToken || s.options.Rules().AllowAll() {
		err = s.authorize(x)
	} else {
		x.query.byLink = true
		x.query.caller, err = s.checkToken(x, token, access.Archive{Address: x.query.address, Version: x.version, Filename: filename})
	}
	if err != nil {
		return err
	}
	// 3. Parse the platform.
	if _, _, platform, ok := provider.ParseFilename(filename); ok {
		x.platform, err = provider.ParsePlatform(platform)
	}
	if err != nil || x.platform == (provider.Platform{}) || provider.Filename(x.query.address, x.version, x.platform) != filename {
		return &problem{http.StatusNotFound, fmt.Sprintf("%s %s has no archive with this file name", x.query.address, x.version)}
	}
	return nil
}
