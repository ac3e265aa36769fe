package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// FileOptions of [File]. The zero value keeps the versions that are locked.
type FileOptions struct {
	Options
	// Upgrade takes the newest versions that meet the requirements, whatever is
	// locked.
	Upgrade bool
	// DryRun writes nothing.
	DryRun bool
	// Prune reports whether to remove a locked provider, because nothing requires it. If
	// nil, no provider is removed.
	Prune func(provider.Address) bool
	// Incomplete reports that not all requirements are known. Locked versions are kept,
	// and selecting another version returns [ErrIncomplete].
	Incomplete bool
	// Terraform starts a new file with the line that Terraform writes.
	Terraform bool
}

// Locked says what became of a provider.
type Locked struct {
	Wanted Wanted
	// Selection is what is locked now; the zero value when Err is set.
	Selection lockfile.Selection
	// Was is what was locked before; nil is nothing.
	Was *lockfile.Selection
	Err error
}

// Change is what became of a lock file.
type Change struct {
	// Old and New are its texts.
	Old, New []byte
	// Providers are in the order in which they were wanted.
	Providers []Locked
	// Removed are the pruned providers, sorted by address.
	Removed []provider.Address
}

// maxRounds is how often a lock file that goes on changing is begun anew.
const maxRounds = 5

// File locks what is wanted in a lock file, which need not exist; what it locks
// beyond that stays, unless it is pruned. It is written when every provider could be
// locked, and it differs. The error is about the file, [lockfile.ErrChanged] where
// others go on changing it; what is wrong with a provider is in the change.
func File(ctx context.Context, src provider.Source, path string, wanted []Wanted, o FileOptions) (Change, error) {
	o.Options = o.bounded()
	for round := 1; ; round++ {
		// 1. What is locked.
		f, err := read(path)
		if err != nil {
			return Change{}, err
		}
		c := Change{Old: f.Bytes()}
		// 2. What is to be. Others may use the file meanwhile.
		if c.Providers, err = lockAll(ctx, src, f, wanted, o); err != nil {
			return c, err
		}
		if o.Prune != nil && !c.failed() {
			c.prune(f, o)
		}
		c.apply(f, o)
		c.New = f.Bytes()
		if o.DryRun || c.failed() {
			return c, nil
		}
		// 3. It goes where it was read from.
		_, err = lockfile.Update(ctx, path, func(now *lockfile.File) error {
			if !bytes.Equal(now.Bytes(), c.Old) {
				return fmt.Errorf("lock file %s: %w", path, lockfile.ErrChanged)
			}
			c.apply(now, o)
			return nil
		})
		if !errors.Is(err, lockfile.ErrChanged) || round == maxRounds {
			return c, err
		}
	}
}

// read reads a lock file; one that is not there is empty.
func read(path string) (*lockfile.File, error) {
	f, err := lockfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lockfile.Parse(path, nil)
	}
	return f, err
}

// lockAll returns the selection for each wanted provider.
func lockAll(ctx context.Context, src provider.Source, f *lockfile.File, wanted []Wanted, o FileOptions) ([]Locked, error) {
	var all []Locked
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (Locked, bool) {
		return locked(ctx, src, f, wanted[i], o), true
	}, func(l Locked) { all = append(all, l) })
	return all, ctx.Err()
}

// apply makes the change in a lock file. Providers that failed stay as they are.
func (c *Change) apply(f *lockfile.File, o FileOptions) {
	f.Terraform = o.Terraform
	for _, a := range c.Removed {
		f.Remove(a)
	}
	for _, l := range c.Providers {
		if l.Err == nil {
			f.Set(l.Selection)
		}
	}
}

// prune sets Removed to the locked providers that nothing requires.
func (c *Change) prune(f *lockfile.File, o FileOptions) {
	for _, s := range f.Selections() {
		if o.Prune(s.Address) {
			c.Removed = append(c.Removed, s.Address)
		}
	}
}

func (c *Change) failed() bool {
	return slices.ContainsFunc(c.Providers, func(l Locked) bool { return l.Err != nil })
}

func locked(ctx context.Context, src provider.Source, f *lockfile.File, wanted Wanted, o FileOptions) Locked {
	l := Locked{Wanted: wanted}
	if was, ok := f.Selection(wanted.Address); ok {
		l.Was = &was
	}
	l.Selection, l.Err = selection(ctx, src, wanted, l.Was, o)
	return l
}

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

// selection returns what is to be locked of a requirement. Hashes of the same version
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
