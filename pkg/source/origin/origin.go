// Package origin is the source of releases that origin registries offer, by the
// provider registry protocol, found by service discovery. Use it as the source of
// a mirror; TF_TOKEN_ variables come from [TokenFromEnv].
//
// https://opentofu.org/docs/internals/provider-registry-protocol/
package origin

import (
	"context"
	"net/http"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxDocuments is how many small documents are asked for at once.
const maxDocuments = 8

// Source is the source of releases at their origin registries. Each provider's
// address names its registry.
type Source struct {
	client   *http.Client
	protocol protocol
	// pool has the slots for requests to each host.
	pool *schedule.Limiter
}

var _ provider.Capable = (*Source)(nil)

// Options say how origin registries are asked. The zero value asks without
// credentials.
type Options struct {
	// HTTP makes the requests; nil is a client with timeouts and retries. It must
	// keep Authorization away from hosts that a redirect leads to.
	HTTP *http.Client
	// Services are URLs of provider registries that are known without
	// discovery, as the CLI configuration's host blocks give them. Relative
	// ones are relative to where discovery would have asked.
	Services map[svchost.Hostname]string
	// Token gives the bearer token for a host, the zero value when there is none.
	// It is sent to that host and to the provider registry that it names, and
	// never to where zips and checksums are. May be nil.
	Token func(ctx context.Context, host svchost.Hostname) (Token, error)
	// Lifetime is how long answers are kept; 0 is as long as the Source lives,
	// which is right for a run.
	Lifetime time.Duration
}

// New makes a source.
func New(o Options) *Source {
	if o.HTTP == nil {
		// The only error is about a CA file, and there is none.
		o.HTTP, _ = httpclient.New(httpclient.Options{})
	}
	if o.Token == nil {
		o.Token = func(context.Context, svchost.Hostname) (Token, error) { return Token{}, nil }
	}
	asked := client{http: o.HTTP, services: o.Services, token: o.Token}
	pool := schedule.NewOriginRequests()
	return &Source{client: o.HTTP, protocol: remember(limited{asked, pool}, o.Lifetime), pool: pool}
}

// Versions lists what the registry lists. What it lists that is no version is
// left out.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	l, err := s.listing(ctx, a)
	if err != nil {
		return nil, err
	}
	return l.newestFirst(), nil
}

// Capabilities tell that releases are published, and what is known of them for
// less than a release.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Platforms: s.platforms, Digests: s.digests, Date: s.date}
}

// versionOf returns what the registry lists of a version.
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

// listing gets the list of a provider's versions.
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
