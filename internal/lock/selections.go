package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Selections contains the merged selections of lock files, sorted by address and
// version. Each version appears once, with the hashes from all files that select it.
type Selections []lockfile.Selection

// Union merges the selections of lock files.
func Union(files ...[]lockfile.Selection) Selections {
	var all Selections
	for _, s := range slices.Concat(files...) {
		all = all.With(s)
	}
	return all
}

// With returns s with an additional selection. It can modify s. If only one of two
// merged selections has a predecessor, the result has none, so its hashes apply.
func (s Selections) With(added lockfile.Selection) Selections {
	i, found := slices.BinarySearchFunc(s, added, func(a, b lockfile.Selection) int {
		return cmp.Or(strings.Compare(a.Address.String(), b.Address.String()), a.Version.Compare(b.Version))
	})
	if !found {
		return slices.Insert(s, i, added)
	}
	if added.Predecessor == (provider.Address{}) {
		s[i].Predecessor = provider.Address{}
	}
	hashes := slices.Concat(s[i].Hashes, added.Hashes)
	slices.Sort(hashes)
	s[i].Hashes = slices.Compact(hashes)
	return s
}

// Requirements returns a requirement with the exact version for each selection.
func (s Selections) Requirements() []provider.Requirement {
	wanted := make([]provider.Requirement, len(s))
	for i, selection := range s {
		wanted[i] = provider.Requirement{Address: selection.Address, Constraint: selection.Version.Constraint()}
	}
	return wanted
}

// Of returns the selections for the given providers. If a provider is not selected, the
// error wraps [ErrNotLocked].
func (s Selections) Of(addresses ...provider.Address) (Selections, error) {
	var kept Selections
	for _, a := range addresses {
		if !slices.ContainsFunc(s, func(s lockfile.Selection) bool { return s.Address == a }) {
			return nil, errNoProvider(a)
		}
	}
	for _, selection := range s {
		if slices.Contains(addresses, selection.Address) {
			kept = append(kept, selection)
		}
	}
	return kept, nil
}

// Check returns a *[HashError] if neither the digest nor the h1: hash of a package is
// locked. It doesn't read the zip. If the version is not selected, or is selected only
// because of its predecessor, Check returns nil.
func (s Selections) Check(p provider.Package) error {
	selected, err := s.find(p.Address, p.Version)
	if err != nil || selected.Predecessor != (provider.Address{}) || slices.Contains(selected.Hashes, zh(p.Digest)) || containsContents(selected.Hashes, p) {
		return nil //nolint:nilerr // another version
	}
	return &HashError{Address: p.Address, Version: p.Version, Platform: p.Platform, Got: []lockfile.Hash{zh(p.Digest)}, Locked: selected.Hashes}
}

// find returns the selection for a version.
func (s Selections) find(a provider.Address, v provider.Version) (lockfile.Selection, error) {
	var others []string
	for _, selection := range s {
		switch {
		case selection.Address != a:
		case selection.Version == v:
			return selection, nil
		default:
			others = append(others, selection.Version.String())
		}
	}
	if len(others) == 0 {
		return lockfile.Selection{}, errNoProvider(a)
	}
	return lockfile.Selection{}, fmt.Errorf("%s %s: %w: %w, which selects %s", a, v, provider.ErrVersionNotFound, ErrNotLocked, strings.Join(others, ", "))
}

func errNoProvider(a provider.Address) error {
	return fmt.Errorf("%s: %w: %w", a, provider.ErrProviderNotFound, ErrNotLocked)
}
