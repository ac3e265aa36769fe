package source

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Resolve returns the versions of a source that a requirement matches, newest first, and at most n
// of them. If n is zero, it returns all. If the requirement specifies an exact version, Resolve
// returns this version without a request: whether it exists is known when its release is read. It
// returns the errors of Versions, and [provider.ErrVersionNotFound].
func Resolve(ctx context.Context, src provider.Source, r provider.Requirement, n int) ([]provider.Version, error) {
	if v, exact := r.Constraint.Exact(); exact {
		return []provider.Version{v}, nil
	}
	versions, err := src.Versions(ctx, r.Address)
	if err != nil {
		return nil, err
	}
	return r.Select(versions, n)
}

// Denied returns the denied versions that [Resolve] would have returned otherwise, newest first.
// chosen is the result of Resolve. Errors of the source are ignored, because Resolve returns them.
func Denied(ctx context.Context, src provider.Source, r provider.Requirement, n int, chosen []provider.Version) []provider.Version {
	list := provider.CapabilitiesOf(src).Denied
	if list == nil {
		return nil
	}
	denied, _ := list(ctx, r.Address)
	return skippedDenied(r, n, denied, chosen)
}

// skippedDenied returns the denied versions that would have been chosen for a requirement, newest
// first: all matching ones or, if n versions were chosen, those that are newer than the last of
// them. If the requirement specifies an exact version, it returns none.
func skippedDenied(r provider.Requirement, n int, denied, chosen []provider.Version) []provider.Version {
	if _, exact := r.Constraint.Exact(); exact {
		return nil
	}
	met, _ := r.Select(denied, 0)
	if n > 0 && len(chosen) >= n {
		last := chosen[len(chosen)-1]
		met = slices.DeleteFunc(met, func(v provider.Version) bool { return v.Compare(last) < 0 })
	}
	return met
}
