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

// maxRedirects is similar to the limits of browsers and net/http.
const maxRedirects = 10

// checkRedirect is the redirect policy of the http.Client. It limits the number of
// redirects, rejects redirects from https to http, and removes credentials after a
// redirect to a different host or port.
//
// net/http keeps Authorization for subdomains and different ports. It copies the first
// request's headers to every hop, so checkRedirect must remove them on each hop.
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
	// The previous URL can be a signed URL, which is a secret.
	req.Header.Del("Referer")
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host, and port.
func SameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && authority(a) == authority(b) }

// authority returns host:port. If the URL has no port, it adds the scheme's default
// port.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// ErrDowngrade means that a server redirected from HTTPS to a URL without TLS.
var ErrDowngrade = provider.Errorf(provider.Refused, "which is not allowed")

// NewDowngradeError returns an [ErrDowngrade] for a redirect to the given URL.
func NewDowngradeError(to *url.URL) error {
	return fmt.Errorf("redirected from https to %s (%s), %w", to.Scheme, RedactURL(to), ErrDowngrade)
}
