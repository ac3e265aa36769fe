package origin

import (
	"context"
	"net/http"
	"net/url"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// protocol is what can be asked of a registry. Each call is a request.
type protocol interface {
	// discover finds a host's provider registry.
	discover(ctx context.Context, host svchost.Hostname) (service, error)
	// versions lists the versions of a provider.
	versions(ctx context.Context, registry service, a provider.Address) (listing, error)
	// describe gets the package document of a platform, of which the list of
	// versions says version.
	describe(ctx context.Context, registry service, key packageKey, version listed) (description, error)
	// document gets a small file that a package document points at.
	document(ctx context.Context, at *url.URL, limit int64) ([]byte, error)
}

// client asks, and keeps nothing.
type client struct {
	http     *http.Client
	services map[svchost.Hostname]string
	token    func(ctx context.Context, host svchost.Hostname) (string, error)
}

// document gets a small file. No token goes there, wherever it is: OpenTofu sends
// none either.
func (c client) document(ctx context.Context, at *url.URL, limit int64) ([]byte, error) {
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Limit: limit})
	return doc.Bytes, err
}

// remembered asks each thing once during a lifetime.
type remembered struct {
	protocol
	services  memo.Memo[svchost.Hostname, service]
	listings  memo.Memo[provider.Address, listing]
	packages  memo.Memo[packageKey, description]
	documents memo.Memo[string, []byte]
}

// remember decorates a protocol; 0 is a lifetime without end.
func remember(p protocol, lifetime time.Duration) protocol {
	r := &remembered{protocol: p}
	r.services.Lifetime, r.listings.Lifetime, r.packages.Lifetime, r.documents.Lifetime = lifetime, lifetime, lifetime, lifetime
	return r
}

func (r *remembered) discover(ctx context.Context, host svchost.Hostname) (service, error) {
	return r.services.Get(ctx, host, func(ctx context.Context) (service, error) {
		return r.protocol.discover(ctx, host)
	})
}

func (r *remembered) versions(ctx context.Context, registry service, a provider.Address) (listing, error) {
	return r.listings.Get(ctx, a, func(ctx context.Context) (listing, error) {
		return r.protocol.versions(ctx, registry, a)
	})
}

func (r *remembered) describe(ctx context.Context, registry service, key packageKey, version listed) (description, error) {
	return r.packages.Get(ctx, key, func(ctx context.Context) (description, error) {
		return r.protocol.describe(ctx, registry, key, version)
	})
}

func (r *remembered) document(ctx context.Context, at *url.URL, limit int64) ([]byte, error) {
	return r.documents.Get(ctx, at.String(), func(ctx context.Context) ([]byte, error) {
		return r.protocol.document(ctx, at, limit)
	})
}
