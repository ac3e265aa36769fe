package repository

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// RealmError says that no login is sent to the token service that a registry
// names, its "realm" (https://distribution.github.io/distribution/spec/auth/token/).
// [Options.TokenRealms] allows it.
type RealmError struct {
	// Realm is the token service's host, with its port when it is known.
	Realm string
	// Private tells that its address is one that only a network of one's own has.
	// Else the registry that names it is spoken to without TLS, so that it may be
	// anybody who names it.
	Private bool
}

func (e *RealmError) Error() string {
	if e.Private {
		return fmt.Sprintf("the registry names %s as its token service, which is at a private address and not the registry's own host", e.Realm)
	}
	return fmt.Sprintf("the registry, which is spoken to without TLS, names %s as its token service, and the login is not for that host", e.Realm)
}

// Kind is [provider.Refused].
func (e *RealmError) Kind() provider.ErrorKind { return provider.Refused }

// realmPolicy decides which token services are asked for tokens. A registry, or somebody
// on the way to one without TLS, could name any host: one that only this machine reaches,
// or one that collects logins.
type realmPolicy struct {
	// registry is the registry's host, with its port if any.
	registry string
	// plain reports that the registry is contacted without TLS.
	plain   bool
	allowed []string
}

// check refuses a token service. It does not look through a name that resolves to another
// address when the request is sent.
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

// checkScheme refuses to leave TLS.
func (p realmPolicy) checkScheme(realm *url.URL) error {
	switch {
	case realm.Scheme == "https", realm.Scheme == "http" && p.plain:
		return nil
	case realm.Scheme == "http":
		return httpclient.NewDowngradeError(realm)
	}
	return fmt.Errorf("the registry names a token service with the scheme %q", realm.Scheme)
}

// checkAddress also refuses private addresses of other hosts than the registry's.
func (p realmPolicy) checkAddress(ctx context.Context, realm *url.URL) error {
	if err := p.checkScheme(realm); err != nil || p.isOwn(realm) {
		return err
	}
	addresses := []netip.Addr{}
	if address, err := netip.ParseAddr(realm.Hostname()); err == nil {
		addresses = append(addresses, address)
	} else {
		// A name that can't be resolved here may be one that the proxy knows.
		addresses, _ = net.DefaultResolver.LookupNetIP(ctx, "ip", realm.Hostname())
	}
	for _, address := range addresses {
		if isPrivate(address.Unmap()) {
			return &RealmError{Realm: realm.Hostname(), Private: true}
		}
	}
	return nil
}

// checkRedirect is the policy for redirects of token requests: the service itself may move
// them within its origin. An identity token in the body goes to no other one.
func (p realmPolicy) checkRedirect(req *http.Request, via []*http.Request) error {
	if httpclient.SameOrigin(req.URL, via[0].URL) {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		return errors.New("the token service sends the login to another host")
	}
	return p.checkAddress(req.Context(), req.URL)
}

// isOwn reports whether a URL is at the registry's own host, on any port.
func (p realmPolicy) isOwn(u *url.URL) bool {
	own := url.URL{Host: p.registry}
	return strings.EqualFold(u.Hostname(), own.Hostname())
}

// allows reports whether a login may go to a host. Without a port all of its ports
// are allowed.
func (p realmPolicy) allows(u *url.URL) bool {
	for _, host := range p.allowed {
		if strings.EqualFold(host, u.Host) || strings.EqualFold(strings.Trim(host, "[]"), u.Hostname()) {
			return true
		}
	}
	return false
}

// sharedAddresses are those of carriers (RFC 6598), where clouds have internal services.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

func isPrivate(a netip.Addr) bool {
	return a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsPrivate() || a.IsUnspecified() || sharedAddresses.Contains(a)
}
