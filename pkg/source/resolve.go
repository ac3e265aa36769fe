package source

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Resolve returns the newest n versions of a source that match a requirement, newest
// first. If n is zero, it returns all matching versions. If the requirement specifies
// an exact version, Resolve returns this version without a request. Only reading the
// release reveals whether this version exists. Resolve returns the errors of Versions,
// and [provider.ErrVersionNotFound].
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

// Denied returns the versions that [Resolve] omits because they are denied, newest
// first. chosen is the result of Resolve. Denied ignores errors from the source,
// because Resolve returns them.
func Denied(ctx context.Context, src provider.Source, r provider.Requirement, n int, chosen []provider.Version) []provider.Version {
	list := provider.CapabilitiesOf(src).Denied
	if list == nil {
		return nil
	}
	denied, _ := list(ctx, r.Address)
	return skippedDenied(r, n, denied, chosen)
}

// skippedDenied returns the denied versions that would have been chosen for a
// requirement, newest first. If n versions were chosen, it returns only matching
// versions that are newer than the last chosen version. Otherwise, it returns all
// matching versions. If the requirement specifies an exact version, skippedDenied
// returns none.
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
