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

// anybody stands in the place of a token where everybody may read.
const anonymousToken = "-"

const (
	// tokenAge is how long a link to an archive is good at least. A client that installs
	// many providers asks for all links first; one that goes on with a download after a
	// failure may be late.
	tokenAge = time.Hour
	// tokenStep lets the links of some minutes be the same, at all replicas.
	tokenStep = 5 * time.Minute
)

// linkRefused is the message for clients whose link is refused.
const linkRefused = "the link is not valid, or not any more: ask for the provider again"

// tokenPath returns the path of a package after /archive or /v1/documents. Its token
// stands for a login, which clients don't send there. The link is valid for releases that
// are stored as one address.
func (s *Server) tokenPath(x *exchange, stored provider.Address, filename string) string {
	token := anonymousToken
	if !s.options.Rules().AllowAll() {
		expires := s.options.Now().Truncate(tokenStep).Add(tokenStep + tokenAge)
		token = s.options.Key.Token(access.Archive{Address: x.query.address, Stored: stored, Version: x.version, Filename: filename}, x.caller, expires)
	}
	return pathOf(token, x.query.host(), x.query.address.Namespace, x.query.address.Type, x.version.String(), filename)
}

// pathOf returns a path with escaped elements.
func pathOf(elements ...string) string {
	for i, element := range elements {
		elements[i] = "/" + url.PathEscape(element)
	}
	return strings.Join(elements, "")
}

// admitByToken admits the caller to a package, if the token in the path is for it, or the
// caller may read it.
func (s *Server) authorizeByToken(x *exchange) error {
	// 1. The provider.
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
	// 2. The caller.
	token, filename := x.r.PathValue("TOKEN"), x.r.PathValue("FILENAME")
	if token == anonymousToken || s.options.Rules().AllowAll() {
		err = s.authorize(x)
	} else {
		x.query.byLink = true
		x.query.caller, err = s.options.Key.Check(token, access.Archive{Address: x.query.address, Version: x.version, Filename: filename})
		if err != nil {
			err = because(err, http.StatusForbidden, linkRefused)
		}
		err = cmp.Or(s.limit(x, x.query.caller), err)
	}
	if err != nil {
		return err
	}
	// 3. The platform.
	if _, _, platform, ok := provider.ParseFilename(filename); ok {
		x.platform, err = provider.ParsePlatform(platform)
	}
	if err != nil || x.platform == (provider.Platform{}) || provider.Filename(x.query.address, x.version, x.platform) != filename {
		return &problem{http.StatusNotFound, fmt.Sprintf("%s %s has no archive of that name", x.query.address, x.version)}
	}
	return nil
}
