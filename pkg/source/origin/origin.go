// Package origin implements the source of releases in origin registries. It finds
// registries with service discovery and reads them with the provider registry protocol.
// Use it as the source for a mirror. For private registries, [TokenFromEnv] looks up
// tokens in TF_TOKEN_ variables.
//
// A package document is the registry's metadata about one package.
//
// See https://opentofu.org/docs/internals/provider-registry-protocol/.
package origin

import (
	"context"
	"net/http"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxDocuments is the maximum number of concurrent requests for a release's documents.
const maxDocuments = 8

// Source provides the releases in origin registries. A provider's address determines
// its registry.
type Source struct {
	protocol protocol
	// downloads.Pool limits concurrent requests to each host.
	downloads transfer.Downloader
	github    *GitHub
}

var _ provider.Capable = (*Source)(nil)

// Options configures requests to origin registries. The zero value sends no credentials.
type Options struct {
	// HTTP sends the requests. If nil, a client with timeouts and retries is used. The
	// client must not send Authorization headers to other hosts after a redirect.
	HTTP *http.Client
	// Services maps hosts to the URLs of their registries. These hosts need no
	// discovery. Host blocks in the CLI configuration specify such URLs. Relative URLs
	// are resolved against the URL of the discovery document.
	Services map[svchost.Hostname]string
	// Token, if not nil, returns the bearer token for a host, or the zero value if the
	// host has no token. The token is sent only to this host and its registry,
	// not to the hosts of zips and checksums.
	Token func(ctx context.Context, host svchost.Hostname) (Token, error)
	// Lifetime is the time for which responses are cached. If zero, responses are
	// cached as long as the Source exists, which is suitable for a single run.
	Lifetime time.Duration
	// GitHub, if not nil, is used to find attestations.
	GitHub *GitHub
}

// New returns a source of releases in origin registries.
func New(o Options) *Source { return newSource(o, providersService) }

func newSource(o Options, service string) *Source {
	if o.HTTP == nil {
		// httpclient.New returns only errors about CA files.
		o.HTTP, _ = httpclient.New(httpclient.Options{})
	}
	if o.Token == nil {
		o.Token = func(context.Context, svchost.Hostname) (Token, error) { return Token{}, nil }
	}
	requests := client{service: service, http: o.HTTP, services: o.Services, token: o.Token}
	pool := schedule.NewOriginRequests()
	return &Source{protocol: remember(limited{requests, pool}, o.Lifetime), downloads: transfer.Downloader{Client: o.HTTP, Pool: pool}, github: o.GitHub}
}

// Versions returns the versions that the registry lists. Invalid versions are ignored.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	l, err := s.listing(ctx, a)
	if err != nil {
		return nil, err
	}
	return l.newestFirst(), nil
}

// Capabilities reports that releases are complete and don't change. It returns
// functions that look up platforms, digests, and dates with fewer requests than
// Release.
func (s *Source) Capabilities() provider.Capabilities {
	can := provider.Capabilities{Published: true, Platforms: s.platforms, Digests: s.digests, Date: s.date}
	if s.github != nil {
		can.Attestations = s.attestations
	}
	return can
}

// versionOf returns the entry for a version in the version list.
func (s *Source) versionOf(ctx context.Context, a provider.Address, v provider.Version) (listed, error) {
	l, err := s.listing(ctx, a)
	if err != nil {
		return listed{}, err
	}
	found, ok := l[v]
	if !ok {
		return listed{}, &provider.VersionError{Address: a, Version: v, Have: l.newestFirst()}
	}
	return found, nil
}

// listing returns the version list of a provider.
func (s *Source) listing(ctx context.Context, a provider.Address) (listing, error) {
	registry, err := s.protocol.discover(ctx, a.Host)
	if err == nil {
		var l listing
		if l, err = s.protocol.versions(ctx, registry, a); err == nil {
			return l, nil
		}
	}
	return nil, &provider.Error{Op: "listing versions of", Address: a, Err: err}
}
