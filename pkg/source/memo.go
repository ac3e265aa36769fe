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

// Memo is a source that keeps what another one said for a lifetime: a run for a
// command, minutes for a server. Zips and documents are opened at the other one
// each time. It is safe for concurrent use, and asks for a thing once however
// many want it at the same time.
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

// releaseKey has the wanted platforms as one text, since keys are comparable.
type releaseKey struct {
	versionKey
	only string
}

// NewMemo decorates a source; a lifetime of 0 has no end.
func NewMemo(inner provider.Source, lifetime time.Duration) *Memo {
	m := &Memo{inner: inner, can: provider.CapabilitiesOf(inner)}
	m.versions.Lifetime, m.releases.Lifetime = lifetime, lifetime
	m.platforms.Lifetime, m.digests.Lifetime, m.dates.Lifetime = lifetime, lifetime, lifetime
	return m
}

// Versions lists what the source listed.
func (m *Memo) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	versions, err := m.versions.Get(ctx, a, func(ctx context.Context) ([]provider.Version, error) {
		return m.inner.Versions(ctx, a)
	})
	return slices.Clone(versions), err
}

// Release describes a version as the source did.
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

// Open opens the zip at the source.
func (m *Memo) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	return m.inner.Open(ctx, p)
}

// Capabilities are those of the source. What costs it a request is asked once.
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
