package source

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Registry is the source of releases that origin registries offer, by the
// provider registry protocol. Each provider's address names its registry.
// https://opentofu.org/docs/internals/provider-registry-protocol/
type Registry struct {
	client   *http.Client
	services map[svchost.Hostname]string
	token    func(svchost.Hostname) string

	discovered memo[svchost.Hostname, service]
	listings   memo[provider.Address, listing]
	described  memo[packageKey, description]
	documents  memo[string, []byte]
}

var _ provider.Capable = (*Registry)(nil)

// RegistryOptions say how origin registries are asked. The zero value asks
// without credentials.
type RegistryOptions struct {
	// HTTP makes the requests; a client of package httpclient with its defaults
	// when nil. It must keep Authorization away from hosts that a redirect
	// leads to, as those clients do.
	HTTP *http.Client
	// Services are URLs of provider registries that are known without
	// discovery, as the CLI configuration's host blocks give them. Relative
	// ones are relative to where discovery would have asked.
	Services map[svchost.Hostname]string
	// Token gives the bearer token for a host, empty when there is none. It is
	// sent to that host and to the provider registry that it names, and never
	// to where zips and checksums are. May be nil.
	Token func(svchost.Hostname) string
}

// NewRegistry makes a source that keeps what it learns for its lifetime.
func NewRegistry(o RegistryOptions) *Registry {
	if o.HTTP == nil {
		// The only error is about a CA file, and there is none.
		o.HTTP, _ = httpclient.New(httpclient.Options{})
	}
	if o.Token == nil {
		o.Token = func(svchost.Hostname) string { return "" }
	}
	return &Registry{client: o.HTTP, services: o.Services, token: o.Token}
}

// Versions lists what the registry lists. What it lists that is no version is
// left out.
func (s *Registry) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	l, err := s.listing(ctx, a)
	if err != nil {
		return nil, err
	}
	return l.newestFirst(), nil
}

// Capabilities tell that releases are published, and what is known of them for
// less than a release.
func (s *Registry) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Platforms: s.platforms, Digests: s.digests}
}

// platforms gives the platforms that the registry lists for a version, sorted.
// It costs nothing beyond the list of versions.
func (s *Registry) platforms(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error) {
	version, err := s.versionOf(ctx, a, v)
	return slices.Clone(version.platforms), err
}

// versionOf gives what the registry lists of a version.
func (s *Registry) versionOf(ctx context.Context, a provider.Address, v provider.Version) (listed, error) {
	l, err := s.listing(ctx, a)
	if err != nil {
		return listed{}, err
	}
	found, ok := l[v]
	if !ok {
		return listed{}, fmt.Errorf("%w: %s %s; %s", provider.ErrVersionNotFound, a, v, provider.SomeVersions(l.newestFirst()))
	}
	return found, nil
}
