package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ErrNotLocked says that lock files select no version of a provider, or another one.
var ErrNotLocked = provider.Errorf(provider.NotFound, "not in the lock file")

// notLockedError is [ErrNotLocked], and what a source says of a provider or version that
// it does not have.
type notLockedError struct {
	text   string
	absent error
}

func (e *notLockedError) Error() string { return e.text }

func (e *notLockedError) Unwrap() []error { return []error{ErrNotLocked, e.absent} }

func noProvider(a provider.Address) error {
	return &notLockedError{fmt.Sprintf("%s is %v", a, ErrNotLocked), provider.ErrProviderNotFound}
}

// Selections are what one or many lock files select, sorted by address and version,
// each version once with the hashes of all that select it.
type Selections []lockfile.Selection

// Union gives the selections of lock files.
func Union(files ...*lockfile.File) Selections {
	var all Selections
	for _, f := range files {
		for _, s := range f.Selections() {
			all = all.with(s)
		}
	}
	return all
}

func (s Selections) with(added lockfile.Selection) Selections {
	i, found := slices.BinarySearchFunc(s, added, func(a, b lockfile.Selection) int {
		return cmp.Or(strings.Compare(a.Address.String(), b.Address.String()), a.Version.Compare(b.Version))
	})
	if !found {
		return slices.Insert(s, i, added)
	}
	hashes := slices.Concat(s[i].Hashes, added.Hashes)
	slices.Sort(hashes)
	s[i].Hashes = slices.Compact(hashes)
	return s
}

// Requirements gives a requirement for each selection, which names its version.
func (s Selections) Requirements() []provider.Requirement {
	wanted := make([]provider.Requirement, len(s))
	for i, selection := range s {
		wanted[i] = provider.Requirement{Address: selection.Address, Constraint: selection.Version.Constraint()}
	}
	return wanted
}

// Of keeps the selections of some providers. The error is [ErrNotLocked] for one
// that is not selected.
func (s Selections) Of(addresses ...provider.Address) (Selections, error) {
	var kept Selections
	for _, a := range addresses {
		if !slices.ContainsFunc(s, func(s lockfile.Selection) bool { return s.Address == a }) {
			return nil, noProvider(a)
		}
	}
	for _, selection := range s {
		if slices.Contains(addresses, selection.Address) {
			kept = append(kept, selection)
		}
	}
	return kept, nil
}

// find gives the selection of a version.
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
		return lockfile.Selection{}, noProvider(a)
	}
	return lockfile.Selection{}, &notLockedError{
		fmt.Sprintf("%s %s is %v, which selects %s", a, v, ErrNotLocked, strings.Join(others, ", ")), provider.ErrVersionNotFound,
	}
}
