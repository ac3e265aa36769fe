package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// SourceOptions of [NewSource]. The zero value tells nobody.
type SourceOptions struct {
	// ByH1 is told, once, of each package that is accepted by what its zip holds,
	// since the lock files don't have the zip's own hash. May be nil.
	ByH1 func(p provider.Package)
	// TempDir is where zips are kept that can't be read as they pass; empty is the
	// system's place.
	TempDir string
	// Progress is told of the zips that are read for that, and of those begun anew.
	Progress provider.Progress
	// Backoff is the pause after the given number of failures; nil doubles from
	// half a second.
	Backoff func(failed int) time.Duration
}

// Source gives the releases of another source that lock files select, and nothing
// else. A package has to match a hash of its selection, as in OpenTofu's direct
// installation any one of them: the zh hash of its zip, or the h1 of what the zip
// holds. Where it is the h1, the zip is read for that, since what others state of
// it proves nothing. It is safe for concurrent use.
type Source struct {
	inner   provider.Source
	locked  Selections
	options SourceOptions

	zips zipReader
	// contents has the h1 hashes of zips that were read.
	contents memo.Memo[digest.Digest, []lockfile.Hash]
	// told are the packages that ByH1 knows of.
	told sync.Map
}

var _ provider.Capable = (*Source)(nil)

// NewSource decorates a source.
func NewSource(inner provider.Source, locked Selections, o SourceOptions) *Source {
	return &Source{inner: inner, locked: locked, options: o, zips: zipReader{
		src: inner, slots: schedule.NewLimiter(zipsAtOnce, 0), tempDir: o.TempDir, progress: o.Progress, backoff: o.Backoff,
	}}
}

// Versions returns those that are selected, newest first, also when the other source
// does not have them, which is not asked. The error is [ErrNotLocked], which is
// [provider.ErrProviderNotFound] too.
func (s *Source) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	selected, err := s.locked.Of(a)
	if err != nil {
		return nil, err
	}
	versions := make([]provider.Version, len(selected))
	for i, selection := range selected {
		versions[i] = selection.Version
	}
	return provider.NewestFirst(versions), nil
}

// Release describes a version. Errors are those of the other source, [ErrNotLocked],
// and a *[HashError] for each package that matches no hash.
func (s *Source) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	selected, err := s.locked.find(a, v)
	if err != nil {
		return provider.Release{}, err
	}
	release, err := s.inner.Release(ctx, a, v, only...)
	if err != nil {
		return provider.Release{}, err
	}
	wrong := make([]error, len(release.Packages))
	err = eachPackage(ctx, release.Packages, func(ctx context.Context, i int, p provider.Package) error {
		err := s.check(ctx, p, selected.Hashes)
		if _, is := errors.AsType[*HashError](err); is {
			wrong[i], err = err, nil
		}
		return err
	})
	if err := errors.Join(errors.Join(wrong...), err); err != nil {
		return provider.Release{}, err
	}
	return release, nil
}

// Open opens a package of Release.
func (s *Source) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	return s.inner.Open(ctx, p)
}

// Capabilities are those of the other source. Digests that the lock files don't have
// are not told, so that the release is asked for.
func (s *Source) Capabilities() provider.Capabilities {
	can := provider.CapabilitiesOf(s.inner)
	if digests := can.Digests; digests != nil {
		can.Digests = func(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error) {
			selected, err := s.locked.find(a, v)
			if err != nil {
				return nil, err
			}
			all, err := digests(ctx, a, v)
			for _, d := range all {
				if !slices.Contains(selected.Hashes, zh(d)) {
					return nil, err
				}
			}
			return all, err
		}
	}
	return can
}

// check holds a package against the hashes that are locked.
func (s *Source) check(ctx context.Context, p provider.Package, locked []lockfile.Hash) error {
	refused := &HashError{Address: p.Address, Version: p.Version, Platform: p.Platform, Locked: locked}
	if p.Digest != "" {
		if slices.Contains(locked, zh(p.Digest)) {
			return nil
		}
		refused.Got = append(refused.Got, zh(p.Digest))
	}
	if p.H1 != "" {
		refused.Got = append(refused.Got, lockfile.Hash(p.H1))
	}
	stated := slices.Contains(locked, lockfile.Hash(p.H1))
	switch {
	case p.Digest == "" && stated: // an unpacked directory, which is hashed when it is used
		return nil
	case p.Digest == "", !slices.ContainsFunc(locked, lockfile.Hash.IsH1):
		return refused
	}
	contents, err := s.contents.Get(ctx, p.Digest, func(ctx context.Context) ([]lockfile.Hash, error) { return s.zips.hashes(ctx, p) })
	if err != nil {
		return fmt.Errorf("comparing %s with the lock file: %w", p.Filename, err)
	}
	if !slices.ContainsFunc(contents, func(h lockfile.Hash) bool { return slices.Contains(locked, h) }) {
		refused.Got = append([]lockfile.Hash{zh(p.Digest)}, contents...)
		return refused
	}
	if _, again := s.told.LoadOrStore(p.Address.String()+" "+p.Filename, true); !again && s.options.ByH1 != nil {
		s.options.ByH1(p)
	}
	return nil
}

func zh(d digest.Digest) lockfile.Hash { return lockfile.Hash(sums.ZH(d)) }
