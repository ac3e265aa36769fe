package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// FileOptions configures [Directory]. With the zero value, locked versions are kept.
type FileOptions struct {
	Options
	// Loaded returns the configuration. If nil, the configuration is read from files.
	Loaded func() (configuration.Configuration, error)
	// Named lists the providers to lock. If the configuration requires a named
	// provider, the configuration's constraints must be met, too. If Named is empty,
	// all required providers are locked. Other providers are then removed from the lock
	// file if the requirements of all modules are known.
	Named []provider.Requirement
	// Skip, if not nil, reports whether to skip a required provider.
	Skip func(provider.Address) bool
	// Upgrade selects the newest versions that meet the requirements. If false, locked
	// versions are kept.
	Upgrade bool
	// DryRun prevents writing the file.
	DryRun bool

	incomplete bool // see Change.Incomplete
}

// Locked describes a provider in a [Change].
type Locked struct {
	// Requirement is the requirement that the lock file records.
	Requirement provider.Requirement
	// Selection is the new selection of the provider. It is the zero value if Err is
	// set.
	Selection lockfile.Selection
	// Previous is the selection before the change, or nil if neither the provider nor
	// its predecessor was locked.
	Previous *lockfile.Selection
	// Denied lists the versions that were not selected because they are denied.
	Denied []provider.Version
	// Err is the reason the provider could not be locked.
	Err error

	// narrower is an additional constraint that is not recorded in the file.
	narrower provider.Constraint
	// isRequired reports whether the configuration requires the provider and all
	// modules of the configuration are known.
	isRequired bool
}

// Change describes how [Directory] changes a lock file.
type Change struct {
	// Path is the path of the lock file.
	Path string
	// Old and New are the contents of the file before and after the change.
	Old, New []byte
	// Providers lists the providers to lock, in the order of the requirements.
	Providers []Locked
	// Removed lists the removed providers, sorted by address.
	Removed []provider.Address
	// Skipped lists the required providers that FileOptions.Skip excludes.
	Skipped []provider.Address
	// Written reports whether the file was written.
	Written bool
	// Unread describes the modules whose requirements are unknown.
	Unread []string
	// Incomplete reports whether unknown requirements could exclude any version. If so,
	// locked versions are kept, and selecting a different version fails with
	// [ErrIncomplete].
	Incomplete bool
}

// maxRounds is the maximum number of attempts to write a lock file that other processes
// keep changing.
const maxRounds = 5

// Directory locks providers in the lock file of a directory. It creates the file if
// necessary and writes it only if every provider could be locked. It returns errors
// from reading the configuration and the lock file, and [lockfile.ErrChanged] if other
// processes keep changing the file. The Change contains the errors for individual
// providers.
func Directory(ctx context.Context, src provider.Source, dir string, o FileOptions) (Change, error) {
	c := Change{Path: filepath.Join(dir, Filename)}
	// 1. Read the configuration.
	if o.Loaded == nil {
		o.Loaded = func() (configuration.Configuration, error) { return configuration.Load(ctx, dir, o.Configuration) }
	}
	found, err := o.Loaded()
	if err != nil && (!errors.Is(err, configuration.ErrNoConfiguration) || len(o.Named) == 0) {
		return c, err
	}
	wanted := c.require(found, o)
	o.Options, o.incomplete = o.bounded(), c.Incomplete
	for round := 1; ; round++ {
		// 2. Read the lock file.
		f, err := read(c.Path)
		if err != nil {
			return c, err
		}
		c.Old, c.Removed = f.Bytes(), nil
		// 3. Select versions and hashes. Other processes can change the file in the
		// meantime.
		if c.Providers, err = lockAll(ctx, src, c.Path, f, wanted, o); err != nil {
			return c, err
		}
		if len(o.Named) == 0 && len(c.Unread) == 0 && !c.failed() {
			c.prune(f, found)
		}
		c.apply(f, o)
		c.New = f.Bytes()
		if o.DryRun || c.failed() {
			return c, nil
		}
		// 4. Write the lock file, unless it has changed.
		c.Written, err = lockfile.Update(ctx, c.Path, func(now *lockfile.File) error {
			if !bytes.Equal(now.Bytes(), c.Old) {
				return fmt.Errorf("lock file %s: %w", c.Path, lockfile.ErrChanged)
			}
			c.apply(now, o)
			return nil
		})
		if !errors.Is(err, lockfile.ErrChanged) || round == maxRounds {
			return c, err
		}
	}
}

// require returns the providers to lock: the providers in o.Named or, if o.Named is
// empty, the required providers.
func (c *Change) require(found configuration.Configuration, o FileOptions) (wanted []Locked) {
	exact := len(o.Named) > 0
	for _, named := range o.Named {
		l := Locked{Requirement: named}
		if i := slices.IndexFunc(found.Required, func(r provider.Requirement) bool { return r.Address == named.Address }); i >= 0 {
			l = Locked{Requirement: found.Required[i], narrower: named.Constraint, isRequired: len(found.Unread) == 0}
		}
		wanted = append(wanted, l)
		_, is := named.Constraint.Exact()
		exact = exact && is
	}
	for _, call := range found.Unread {
		c.Unread = append(c.Unread, call.String())
		// If the call is resolved, versions can be selected even if the module is not
		// installed.
		c.Incomplete = c.Incomplete || call.IsUnresolved && !exact
	}
	if len(o.Named) > 0 {
		return wanted
	}
	for _, r := range found.Required {
		if o.Skip != nil && o.Skip(r.Address) {
			c.Skipped = append(c.Skipped, r.Address)
			continue
		}
		wanted = append(wanted, Locked{Requirement: r, isRequired: len(found.Unread) == 0})
	}
	return wanted
}

// read reads a lock file. If the file doesn't exist, read returns an empty file.
func read(path string) (*lockfile.File, error) {
	f, err := lockfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lockfile.Parse(path, nil)
	}
	return f, err
}

// lockAll returns the providers to lock, with their selections.
func lockAll(ctx context.Context, src provider.Source, path string, f *lockfile.File, wanted []Locked, o FileOptions) ([]Locked, error) {
	before := ReadOptions{o.Configuration, func(a provider.Address) bool {
		return slices.ContainsFunc(wanted, func(l Locked) bool { return l.Requirement.Address == a })
	}}.selections(ctx, path, f)
	var all []Locked
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (Locked, bool) {
		l := wanted[i]
		if at := slices.IndexFunc(before, func(s lockfile.Selection) bool { return s.Address == l.Requirement.Address }); at >= 0 {
			l.Previous = &before[at]
		}
		l.Selection, l.Err = l.choose(ctx, src, o)
		return l, true
	}, func(l Locked) { all = append(all, l) })
	return all, ctx.Err()
}

// apply applies the change to a lock file. Providers with errors are left unchanged.
func (c *Change) apply(f *lockfile.File, o FileOptions) {
	f.Terraform = o.Configuration.Terraform
	for _, a := range c.Removed {
		f.Remove(a)
	}
	for _, l := range c.Providers {
		if l.Err == nil {
			f.Set(l.Selection)
		}
	}
}

// prune sets Removed to the locked providers that the configuration doesn't require.
func (c *Change) prune(f *lockfile.File, found configuration.Configuration) {
	for _, s := range f.Selections() {
		if !found.Requires(s.Address) {
			c.Removed = append(c.Removed, s.Address)
		}
	}
}

func (c *Change) failed() bool {
	return slices.ContainsFunc(c.Providers, func(l Locked) bool { return l.Err != nil })
}

// choose returns the selection for a provider. If the version doesn't change, it keeps
// the locked hashes, or returns a *[HashError] if they belong to different packages.
func (l *Locked) choose(ctx context.Context, src provider.Source, o FileOptions) (lockfile.Selection, error) {
	a := l.Requirement.Address
	required, err := l.Requirement.Constraint.And(l.narrower)
	if err != nil {
		return lockfile.Selection{}, fmt.Errorf("%s: %w", a, err)
	}
	v, err := l.version(ctx, src, required, o)
	if err != nil {
		return lockfile.Selection{}, err
	}
	hashes, err := Hashes(ctx, src, a, v, o.Options)
	if err != nil {
		return lockfile.Selection{}, err
	}
	if l.Previous != nil && l.Previous.Version == v && len(l.Previous.Hashes) > 0 {
		if err := checkSamePackages(ctx, src, *l.Previous, hashes, o.Options); err != nil {
			return lockfile.Selection{}, err
		}
		hashes = append(hashes, l.Previous.Hashes...)
	}
	if l.Previous == nil || o.Upgrade {
		l.Denied = source.Denied(ctx, src, provider.Requirement{Address: a, Constraint: required}, 1, []provider.Version{v})
	}
	slices.Sort(hashes)
	return lockfile.Selection{Address: a, Version: v, Constraints: l.Requirement.Constraint, Hashes: slices.Compact(hashes)}, nil
}

// version returns the version to lock. If no version is locked or o.Upgrade is set,
// this is the newest version that meets the constraint. Otherwise, it is the locked
// version, which must meet the constraint.
func (l *Locked) version(ctx context.Context, src provider.Source, required provider.Constraint, o FileOptions) (provider.Version, error) {
	a := l.Requirement.Address
	if l.Previous != nil && !o.Upgrade {
		v := l.Previous.Version
		switch isAllowed := required.Allows(v); {
		case !isAllowed && !required.IsZero():
			return v, fmt.Errorf("%s: the %w version %s does not meet %q", a, ErrLocked, v, required)
		case !isAllowed && l.isRequired: // tofu init refuses it, too
			return v, fmt.Errorf("%s: the %w version %s is a pre-release, which only an exact constraint allows", a, ErrLocked, v)
		}
		return v, nil
	}
	if o.incomplete {
		return provider.Version{}, fmt.Errorf("%s: no version is selected, because %w", a, ErrIncomplete)
	}
	found, err := source.Resolve(ctx, src, provider.Requirement{Address: a, Constraint: required}, 1)
	if err != nil {
		return provider.Version{}, err
	}
	return found[0], nil
}

// checkSamePackages returns a *[HashError] if the locked hashes belong to different
// packages than the hashes of the release. At least one locked hash must match. It can be
// the h1: hash of a platform that is not selected.
func checkSamePackages(ctx context.Context, src provider.Source, locked lockfile.Selection, hashes []lockfile.Hash, o Options) error {
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
