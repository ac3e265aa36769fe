package serve

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// anybody stands in the place of a token where everybody may read.
const anybody = "-"

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

// tokenPath is the path of a package after /archive or /v1/documents, with what stands
// for a login: clients send none there. The link is valid for releases that are stored as
// one address.
func (s *Server) tokenPath(x *exchange, at place, stored provider.Address, v provider.Version, filename string) string {
	token := anybody
	if !s.options.Rules().Open() {
		expires := s.options.Now().Truncate(tokenStep).Add(tokenStep + tokenAge)
		token = s.options.Key.Token(access.Archive{Address: at.address, Stored: stored, Version: v, Filename: filename}, x.caller, expires)
	}
	words := []string{token, at.host(), at.address.Namespace, at.address.Type, v.String(), filename}
	for i, word := range words {
		words[i] = url.PathEscape(word)
	}
	return "/" + strings.Join(words, "/")
}

// admitByToken gives the provider of a path with a token, if the token is for what the
// path names, or the caller may have it.
func (s *Server) admitByToken(x *exchange, v provider.Version) (at place, err error) {
	token := x.values["TOKEN"]
	if x.values["HOST"] == ownHost {
		at, err = s.publishedAddress(x)
	} else {
		at, err = s.mirrorAddress(x)
	}
	if err != nil {
		return at, err
	}
	if token == anybody || s.options.Rules().Open() {
		return s.admit(x, at)
	}
	at.byLink = true
	at.caller, err = s.options.Key.Check(token, access.Archive{Address: at.address, Version: v, Filename: x.values["FILENAME"]})
	if tooMany := s.limit(x, at.caller); tooMany != nil {
		return at, tooMany
	}
	if err != nil {
		return at, because(err, http.StatusForbidden, linkRefused)
	}
	return at, nil
}
