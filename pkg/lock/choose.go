package lock

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// Wanted is a provider to lock.
type Wanted struct {
	// Requirement is what the configuration requires, which the lock file records.
	provider.Requirement
	// Narrower has to be met as well, and is not recorded. The zero value is met by
	// all.
	Narrower provider.Constraint
}

// choose says which version is meant beside what is locked: that version, as long
// as it meets the requirement; with upgrade, or when none is locked, the newest that
// does.
func choose(ctx context.Context, src provider.Source, wanted Wanted, locked *lockfile.Selection, o FileOptions) (provider.Version, error) {
	required, err := wanted.Constraint.And(wanted.Narrower)
	if err != nil {
		return provider.Version{}, fmt.Errorf("%s: %w", wanted.Address, err)
	}
	if locked != nil && !o.Upgrade {
		// Without a constraint any version may stay, also a pre-release.
		if required.IsZero() || required.Allows(locked.Version) {
			return locked.Version, nil
		}
		return provider.Version{}, fmt.Errorf("%s %s is %w, which does not meet %q", wanted.Address, locked.Version, ErrLocked, required)
	}
	if o.Incomplete {
		return provider.Version{}, fmt.Errorf("%s: no version is selected, because %w", wanted.Address, ErrIncomplete)
	}
	found, err := source.Resolve(ctx, src, provider.Requirement{Address: wanted.Address, Constraint: required}, 1)
	if err != nil {
		return provider.Version{}, err
	}
	return found[0], nil
}

// selection gives what is to be locked of a requirement. Hashes of the same version
// that are locked stay, unless they are other bytes' altogether.
func selection(ctx context.Context, src provider.Source, wanted Wanted, locked *lockfile.Selection, o FileOptions) (lockfile.Selection, error) {
	v, err := choose(ctx, src, wanted, locked, o)
	if err != nil {
		return lockfile.Selection{}, err
	}
	hashes, err := Hashes(ctx, src, wanted.Address, v, o.Options)
	if err != nil {
		return lockfile.Selection{}, err
	}
	if locked != nil && locked.Version == v && len(locked.Hashes) > 0 {
		if err := agree(ctx, src, *locked, hashes, o.Options); err != nil {
			return lockfile.Selection{}, err
		}
		hashes = append(hashes, locked.Hashes...)
	}
	slices.Sort(hashes)
	return lockfile.Selection{Address: wanted.Address, Version: v, Constraints: wanted.Constraint, Hashes: slices.Compact(hashes)}, nil
}

// agree says whether what is locked and the hashes of its version are about the
// same bytes: they have one in common. What is locked may be the h1 of a platform
// that is not among those that are wanted.
func agree(ctx context.Context, src provider.Source, locked lockfile.Selection, hashes []lockfile.Hash, o Options) error {
	common := func() bool {
		return slices.ContainsFunc(locked.Hashes, func(h lockfile.Hash) bool { return slices.Contains(hashes, h) })
	}
	if !common() && len(o.Platforms) > 0 {
		o.Platforms = nil
		all, err := Hashes(ctx, src, locked.Address, locked.Version, o)
		if err != nil {
			return err
		}
		hashes = all
	}
	if !common() {
		return &HashError{Address: locked.Address, Version: locked.Version, Got: hashes, Locked: locked.Hashes}
	}
	return nil
}
