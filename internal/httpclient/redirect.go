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

// maxRedirects is what browsers and net/http allow, roughly.
const maxRedirects = 10

// checkRedirect is an http.Client's policy: bounded, never from https to http,
// and without credentials as soon as any hop left the first host and port.
//
// net/http itself keeps Authorization for subdomains and other ports. It
// copies the first request's headers to every hop, so what is deleted here
// has to be deleted on each.
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
	// The previous URL is a secret of its own when it is signed.
	req.Header.Del("Referer")
	return nil
}

// SameOrigin reports whether two URLs have the same scheme, host, and port.
func SameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && authority(a) == authority(b) }

// authority returns host:port with the port that the scheme implies.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// ErrDowngrade says that a server spoken to by HTTPS wants to go on without TLS, which is
// refused.
var ErrDowngrade = provider.Errorf(provider.Refused, "which is not followed")

// NewDowngradeError returns an [ErrDowngrade] for the URL to go on to.
func NewDowngradeError(to *url.URL) error {
	return fmt.Errorf("redirected from https to %s (%s), %w", to.Scheme, RedactURL(to), ErrDowngrade)
}
