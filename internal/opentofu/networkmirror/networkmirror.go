// Package networkmirror implements the source of releases in a network mirror. A
// network mirror is a web server that supports OpenTofu's provider mirror protocol.
// Examples are provider proxies and web servers for directories that "tofu providers
// mirror" has written. Use it to move from such a mirror to an OCI repository.
//
// See https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
package networkmirror

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Source provides the releases in a network mirror.
//
// A mirror has neither signatures nor SHA256SUMS. If [Options.Origin] has the release,
// the origin's documents and checksums are used, and only the zips come from the
// mirror. Otherwise, the release is unsigned, and the digests are the zh: hashes that
// the mirror lists. If the mirror doesn't list exactly one zh: hash for a package, or
// lists the same hash for another version, Release downloads the package to compute its
// digest. Hashes that the mirror lists must match the package. A release contains only
// h1: hashes that come from the origin or that Release has computed.
type Source struct {
	base      *url.URL
	options   Options
	downloads transfer.Downloader
	indexes   memo.Memo[provider.Address, []provider.Version]
	documents memo.Memo[releaseKey, document]
	measured  memo.Memo[packageKey, measured]
	// unavailable contains the hosts of origin registries that did not respond.
	unavailable sync.Map
	// originTimeout is the maximum time for the first response of an origin registry.
	originTimeout time.Duration
}

var _ provider.Capable = (*Source)(nil)

// Options configures requests to a network mirror. With the zero value, no credentials are
// sent, and all releases are unsigned.
type Options struct {
	// HTTP sends the requests. If nil, a client with timeouts and retries is used. The
	// client must not send Authorization headers to other hosts after a redirect.
	HTTP *http.Client
	// Token, if not nil, returns the bearer token for a host, or the zero value if the
	// host has no token. The token is sent only to the host of the mirror.
	Token func(ctx context.Context, host svchost.Hostname) (origin.Token, error)
	// Origin, if not nil, provides the checksums and signatures of releases. It is
	// usually an [origin.Source]. If a request for a provider's versions fails, this
	// provider's releases and later releases from the same registry are unsigned.
	Origin provider.Source
	// Store, if not nil, keeps the packages that Release downloads.
	Store *store.Store
	// Progress reports the progress of the packages that Release downloads.
	Progress provider.Progress
	// OnNote, if not nil, is called with a message if the origin registry is
	// unavailable or lacks a release, or if Release downloads a package. It can be
	// called concurrently.
	OnNote func(note string)
}

type releaseKey struct {
	address provider.Address
	version provider.Version
}

type packageKey struct {
	releaseKey
	platform provider.Platform
}

// locator is the location of a zip.
type locator struct{ url *url.URL }

// New returns a source of the releases below a URL. As in OpenTofu, the part of the URL
// after its last slash is ignored.
func New(base *url.URL, o Options) *Source {
	if o.HTTP == nil {
		// httpclient.New returns only errors about CA files.
		o.HTTP, _ = httpclient.New(httpclient.Options{})
	}
	if o.Token == nil {
		o.Token = func(context.Context, svchost.Hostname) (origin.Token, error) { return origin.Token{}, nil }
	}
	if o.OnNote == nil {
		o.OnNote = func(string) {}
	}
	return &Source{base: base, options: o, downloads: transfer.Downloader{Client: o.HTTP, Pool: schedule.NewOriginRequests()}, originTimeout: originTimeout}
}

// Versions returns the versions that the mirror lists. Invalid versions are ignored.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	versions, err := s.indexes.Get(ctx, a, func(ctx context.Context) ([]provider.Version, error) { return s.index(ctx, a) })
	if err != nil {
		return nil, &provider.Error{Op: "listing versions of", Address: a, Err: err}
	}
	return slices.Clone(versions), nil
}

// Release returns the release from the origin registry or, if that is unavailable, the
// packages that the mirror lists. If the mirror's hashes don't match a package, it
// returns a *[HashError].
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	// 1. Find the platforms in the mirror.
	found, err := s.document(ctx, a, v)
	if err != nil {
		return provider.Release{}, err
	}
	platforms, err := provider.ChoosePlatforms(a, v, found.platforms(), only)
	if err != nil {
		return provider.Release{}, err
	}
	// 2. Request the checksums and signatures from the origin registry.
	r, known, err := s.originRelease(ctx, a, v, platforms)
	if err != nil {
		return provider.Release{}, err
	}
	if !known {
		r = provider.Release{Address: a, Version: v}
		for _, platform := range platforms {
			r.Packages = append(r.Packages, provider.Package{
				Address: a, Version: v, Platform: platform, Filename: provider.Filename(a, v, platform), Size: -1,
			})
		}
	}
	// 3. Check the checksums against the mirror's hashes, or compute missing checksums.
	r.Packages = slices.Clone(r.Packages)
	others := s.otherDocuments(ctx, a, v)
	err = schedule.All(ctx, maxMeasured, r.Packages, func(ctx context.Context, i int, p provider.Package) (err error) {
		stated := found.archives[p.Platform]
		p.Locator = locator{stated.url}
		r.Packages[i], err = s.identify(ctx, candidate{p, stated, found.name, stated.otherStating(others, p.Platform)})
		if err != nil {
			return &provider.Error{Op: "checking", Address: a, Version: v, Platform: p.Platform, Err: err}
		}
		return nil
	})
	if err != nil {
		return provider.Release{}, err
	}
	return r, nil
}

// Open starts the download of a zip. It returns the same errors as
// [origin.Source.Open].
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	body, size, err := s.download(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	return sums.NewReadCloser(body, p.Filename, size, p.Digest), size, nil
}

// download starts the download of a zip without verifying it. The token is sent only if
// the zip is on the same host as the mirror.
func (s *Source) download(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	at, ok := p.Locator.(locator)
	if !ok {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, provider.ErrWrongSource)
	}
	if !httpclient.SameOrigin(at.url, s.base) { // the token is not sent to other servers
		return s.downloads.Open(ctx, at.url, nil, p)
	}
	token, err := s.token(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", p.Filename, err)
	}
	header := http.Header{}
	token.Authorize(header)
	body, size, err := s.downloads.Open(ctx, at.url, header, p)
	return body, size, token.Refused(err)
}

// Capabilities reports that releases are complete and don't change. It returns a
// function that looks up the platforms of a version.
func (s *Source) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Platforms: func(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error) {
		found, err := s.document(ctx, a, v)
		return found.platforms(), err
	}}
}

func (d document) platforms() []provider.Platform {
	return provider.SortPlatforms(slices.Collect(maps.Keys(d.archives)))
}
