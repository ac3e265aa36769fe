package source

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Memo is a source that caches responses of another source. Commands cache responses
// for one run, and servers for minutes. Zips and documents are not cached. A Memo is
// safe for concurrent use, and concurrent requests for the same item share one request.
type Memo struct {
	inner     provider.Source
	can       provider.Capabilities
	versions  memo.Memo[provider.Address, []provider.Version]
	releases  memo.Memo[releaseKey, provider.Release]
	platforms memo.Memo[versionKey, []provider.Platform]
	digests   memo.Memo[versionKey, map[provider.Platform]digest.Digest]
	dates     memo.Memo[versionKey, time.Time]
}

var _ provider.Capable = (*Memo)(nil)

type versionKey struct {
	address provider.Address
	version provider.Version
}

// releaseKey contains the requested platforms as a string, because keys must be comparable.
type releaseKey struct {
	versionKey
	only string
}

// NewMemo returns a caching decorator for inner. If lifetime is zero, entries never expire.
func NewMemo(inner provider.Source, lifetime time.Duration) *Memo {
	m := &Memo{inner: inner, can: provider.CapabilitiesOf(inner)}
	m.versions.Lifetime, m.releases.Lifetime = lifetime, lifetime
	m.platforms.Lifetime, m.digests.Lifetime, m.dates.Lifetime = lifetime, lifetime, lifetime
	return m
}

// Versions returns the versions of the underlying source.
func (m *Memo) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	versions, err := m.versions.Get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		return m.inner.Versions(ctx, a)
	})
	return slices.Clone(versions), err
}

// Release returns the release of the underlying source.
func (m *Memo) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	var wanted []string
	for _, p := range provider.SortPlatforms(only) {
		wanted = append(wanted, p.String())
	}
	key := releaseKey{versionKey{a, v}, strings.Join(wanted, " ")}
	r, err := m.releases.Get(ctx, key, func(ctx context.Context) (provider.Release, error) {
		return m.inner.Release(ctx, a, v, only...)
	})
	r.Packages, r.Documents, r.Protocols = slices.Clone(r.Packages), slices.Clone(r.Documents), slices.Clone(r.Protocols)
	return r, err
}

// Open opens the zip in the underlying source.
func (m *Memo) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	return m.inner.Open(ctx, p)
}

// Capabilities returns the capabilities of the underlying source. It caches the results
// of capabilities that need requests.
func (m *Memo) Capabilities() provider.Capabilities {
	can := m.can
	if ask := m.can.Platforms; ask != nil {
		can.Platforms = func(ctx context.Context, a provider.Address, v provider.Version) ([]provider.Platform, error) {
			return m.platforms.Get(ctx, versionKey{a, v}, func(ctx context.Context) ([]provider.Platform, error) { return ask(ctx, a, v) })
		}
	}
	if ask := m.can.Digests; ask != nil {
		can.Digests = func(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error) {
			return m.digests.Get(ctx, versionKey{a, v}, func(ctx context.Context) (map[provider.Platform]digest.Digest, error) { return ask(ctx, a, v) })
		}
	}
	if ask := m.can.Date; ask != nil {
		can.Date = func(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
			return m.dates.Get(ctx, versionKey{a, v}, func(ctx context.Context) (time.Time, error) { return ask(ctx, a, v) })
		}
	}
	return can
}
