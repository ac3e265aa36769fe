package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// RealmError reports that no credentials are sent to the token service ("realm") that a
// registry refers to. To allow the token service, use [Options.TokenRealms]. See
// https://distribution.github.io/distribution/spec/auth/token/.
type RealmError struct {
	// Realm is the host of the token service, with its port if known.
	Realm string
	// Private reports whether the token service has a private address. If false, the
	// registry is accessed without TLS, so an attacker could have chosen the token
	// service.
	Private bool
}

func (e *RealmError) Error() string {
	if e.Private {
		return fmt.Sprintf("registry refers to token service %s, which has a private address and is not on the registry's host", e.Realm)
	}
	return fmt.Sprintf("registry is accessed over plain HTTP and refers to token service %s on another host, which must not receive the credentials", e.Realm)
}

// Kind returns [provider.Refused].
func (e *RealmError) Kind() provider.ErrorKind { return provider.Refused }

// realmPolicy decides which token services the client can use. A registry, or an
// attacker between the client and a registry without TLS, can refer to any host. The
// host might be reachable only from this machine, or might collect credentials.
type realmPolicy struct {
	// registry is the registry's host, with its port if it has one.
	registry string
	// plain reports whether the registry is accessed over plain HTTP.
	plain   bool
	allowed []string
	// isProxied reports whether requests to a URL are sent through a proxy.
	isProxied func(u *url.URL) bool
	// lookup returns the addresses of a host.
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// check returns an error if a token service is not allowed. It can't detect a host name
// that later resolves to a different address.
func (p realmPolicy) check(ctx context.Context, realm *url.URL, hasLogin bool) error {
	if p.allows(realm) {
		return p.checkScheme(realm)
	}
	if err := p.checkAddress(ctx, realm); err != nil {
		return err
	}
	if p.plain && hasLogin && !p.isOwn(realm) {
		return &RealmError{Realm: realm.Host}
	}
	return nil
}

// checkScheme returns an error for an unsupported scheme or a downgrade from HTTPS.
func (p realmPolicy) checkScheme(realm *url.URL) error {
	switch {
	case realm.Scheme == "https", realm.Scheme == "http" && p.plain:
		return nil
	case realm.Scheme == "http":
		return httpclient.NewDowngradeError(realm)
	}
	return fmt.Errorf("token service uses the unsupported scheme %q", realm.Scheme)
}

// checkAddress checks the scheme. It also returns an error if a host other than the
// registry's has a private address.
func (p realmPolicy) checkAddress(ctx context.Context, realm *url.URL) error {
	if err := p.checkScheme(realm); err != nil || p.isOwn(realm) {
		return err
	}
	for _, address := range p.addresses(ctx, realm) {
		if isPrivate(address.Unmap()) {
			return &RealmError{Realm: realm.Hostname(), Private: true}
		}
	}
	return nil
}

// addresses returns the known addresses of a token service. It doesn't look up the name
// if a proxy is used, because the proxy looks it up itself. Machines that use a proxy
// often have no name server, so a lookup would take many seconds.
func (p realmPolicy) addresses(ctx context.Context, realm *url.URL) []netip.Addr {
	if address, err := netip.ParseAddr(realm.Hostname()); err == nil {
		return []netip.Addr{address}
	}
	if p.isProxied(realm) {
		return nil
	}
	addresses, _ := p.lookup(ctx, "ip", realm.Hostname()) // the request reports the error
	return addresses
}

// checkRedirect is the redirect policy for token requests. It always allows redirects
// within an origin. An identity token in the body is never sent to another origin.
func (p realmPolicy) checkRedirect(req *http.Request, via []*http.Request) error {
	if httpclient.SameOrigin(req.URL, via[0].URL) {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		return errors.New("token service redirected the credentials to another host")
	}
	return p.checkAddress(req.Context(), req.URL)
}

// isOwn reports whether a URL has the registry's host, with any port.
func (p realmPolicy) isOwn(u *url.URL) bool {
	own := url.URL{Host: p.registry}
	return strings.EqualFold(u.Hostname(), own.Hostname())
}

// allows reports whether the options allow sending credentials to a host. An allowed
// host without a port matches all ports.
func (p realmPolicy) allows(u *url.URL) bool {
	for _, host := range p.allowed {
		if strings.EqualFold(host, u.Host) || strings.EqualFold(strings.Trim(host, "[]"), u.Hostname()) {
			return true
		}
	}
	return false
}

// sharedAddresses is the shared address space defined in RFC 6598, which clouds use for
// internal services.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

func isPrivate(a netip.Addr) bool {
	return a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsPrivate() || a.IsUnspecified() || sharedAddresses.Contains(a)
}
