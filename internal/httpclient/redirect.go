package httpclient

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxRedirects is about the limit of browsers and of net/http.
const maxRedirects = 10

// checkRedirect is the redirect policy of the http.Client: the number of redirects is
// limited, redirects from https to http are rejected, and credentials are removed after
// any redirect to another host or port.
//
// net/http keeps Authorization for subdomains and other ports. It copies the headers of
// the first request to every hop, so they must be deleted on each hop.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	previous := via[len(via)-1].URL
	if previous.Scheme == "https" && req.URL.Scheme != "https" {
		return NewDowngradeError(req.URL)
	}
	left := func(hop *http.Request) bool { return authority(hop.URL) != authority(via[0].URL) }
	if left(req) || slices.ContainsFunc(via, left) {
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	// The previous URL can be signed and is then a secret.
	req.Header.Del("Referer")
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host, and port.
func SameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && authority(a) == authority(b) }

// authority returns host:port, with the default port of the scheme if necessary.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// ErrDowngrade means that a server redirected from HTTPS to a URL without TLS, which is
// rejected.
var ErrDowngrade = provider.Errorf(provider.Refused, "which is not allowed")

// NewDowngradeError returns an [ErrDowngrade] for a redirect to a URL.
func NewDowngradeError(to *url.URL) error {
	return fmt.Errorf("redirected from https to %s (%s), %w", to.Scheme, RedactURL(to), ErrDowngrade)
}
