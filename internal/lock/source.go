package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// lockedSource is the source that [NewSource] returns.
type lockedSource struct {
	inner  provider.Source
	locked Selections
	byH1   func(provider.Package)
	// allowUnlocked permits releases that are not locked.
	allowUnlocked bool

	zips zipReader
	// contents caches the h1: hashes of zips.
	contents memo.Memo[digest.Digest, []lockfile.Hash]
	// reported contains the packages for which byH1 was called.
	reported sync.Map
}

var _ provider.Capable = (*lockedSource)(nil)

// NewSource returns a source that restricts inner to the packages that lock files
// select. As in OpenTofu's direct installation, the zh: hash of a package's zip or the
// h1: hash of its contents must match a hash of the selection. If the zh: hash doesn't
// match, the zip is read to compute the h1: hash, because h1: hashes in metadata are
// not trustworthy.
//
// If byH1 is not nil, it is called once for each package that matches only an h1: hash.
// NewSource uses the options AllowUnlocked, TempDir, Progress, and Backoff. The source is
// safe for concurrent use.
func NewSource(inner provider.Source, locked Selections, o Options, byH1 func(provider.Package)) provider.Source {
	if byH1 == nil {
		byH1 = func(provider.Package) {}
	}
	return &lockedSource{inner: inner, locked: locked, byH1: byH1, allowUnlocked: o.AllowUnlocked, zips: o.bounded().reader(inner)}
}

// Versions returns the selected versions, newest first, without checking that they
// exist. With AllowUnlocked, it returns all versions of the inner source. If no version
// is selected, the error wraps [ErrNotLocked] and [provider.ErrProviderNotFound].
func (s *lockedSource) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.allowUnlocked {
		return s.inner.Versions(ctx, a)
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

// Release returns a selected version. It returns the inner source's errors, [ErrNotLocked],
// or a *[HashError] for each package that matches no hash.
func (s *lockedSource) Release(ctx context.Context, a provider.Address, v provider.Version, only ...provider.Platform) (provider.Release, error) {
	selected, err := s.locked.find(a, v)
	switch {
	case err != nil && s.allowUnlocked:
		return s.inner.Release(ctx, a, v, only...)
	case err != nil:
		return provider.Release{}, err
	}
	release, err := s.inner.Release(ctx, a, v, only...)
	if err != nil {
		return provider.Release{}, err
	}
	wrong := make([]error, len(release.Packages))
	err = schedule.All(ctx, zipsAtOnce, release.Packages, func(ctx context.Context, i int, p provider.Package) error {
		err := s.check(ctx, p, selected)
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

// Open opens a package that Release returned.
func (s *lockedSource) Open(ctx context.Context, p provider.Package) (io.ReadCloser, int64, error) {
	return s.inner.Open(ctx, p)
}

// Capabilities returns the capabilities of the inner source. If a digest is not locked,
// Digests returns nil, so that callers use Release, which verifies h1: hashes.
func (s *lockedSource) Capabilities() provider.Capabilities {
	can := provider.CapabilitiesOf(s.inner)
	if digests := can.Digests; digests != nil {
		can.Digests = func(ctx context.Context, a provider.Address, v provider.Version) (map[provider.Platform]digest.Digest, error) {
			selected, err := s.locked.find(a, v)
			switch {
			case err != nil && s.allowUnlocked:
				return digests(ctx, a, v)
			case err != nil:
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

// check returns a *[HashError] if a package matches none of the locked hashes. Like
// OpenTofu, it accepts any package if the lock file locks only the predecessor.
func (s *lockedSource) check(ctx context.Context, p provider.Package, selected lockfile.Selection) error {
	if selected.Predecessor != (provider.Address{}) {
		return nil
	}
	locked := selected.Hashes
	refused := &HashError{Address: p.Address, Version: p.Version, Platform: p.Platform, Locked: locked}
	if p.Digest != "" {
		if slices.Contains(locked, zh(p.Digest)) {
			return nil
		}
		refused.Got = append(refused.Got, zh(p.Digest))
	}
	refused.Got = append(refused.Got, contentsOf(p)...)
	stated := containsContents(locked, p)
	switch {
	case p.Digest == "" && stated: // an unpacked directory is hashed when it is used
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
	if _, again := s.reported.LoadOrStore(p.Address.String()+" "+p.Filename, true); !again {
		s.byH1(p)
	}
	return nil
}

func zh(d digest.Digest) lockfile.Hash { return lockfile.Hash(sums.ZH(d)) }
