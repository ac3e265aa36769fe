package mirror

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// chooser selects the releases that match requirements.
type chooser struct {
	src     provider.Source
	rules   Rules
	targets map[provider.Address]target
}

// choice contains the releases that match a requirement.
type choice struct {
	// items contains the releases, newest first.
	items []Item
	// skipped contains the pre-releases that are skipped if all versions are requested.
	// To be mirrored, they must be specified exactly.
	skipped []provider.Version
}

// choose selects the releases for a requirement. They include denied releases, which
// are reported as denied when they are processed.
func (c chooser) choose(ctx context.Context, r provider.Requirement) choice {
	candidates, skipped, err := c.candidates(ctx, r)
	if err != nil {
		return choice{items: []Item{{Requirement: r, Err: err}}}
	}
	for {
		items, undated := Select(r, c.rules, candidates)
		if len(undated) == 0 || ctx.Err() != nil {
			return choice{items, skipped}
		}
		FetchDates(ctx, c.src, r.Address, undated, candidates.Dates)
	}
}

// candidates returns the candidates for a requirement. If all versions are requested,
// it also returns the skipped pre-releases. A requirement for an exact version needs no
// candidates.
func (c chooser) candidates(ctx context.Context, r provider.Requirement) (found Candidates, skipped []provider.Version, err error) {
	if _, exact := r.Constraint.Exact(); exact {
		return found, nil, nil
	}
	versions, err := c.src.Versions(ctx, r.Address)
	if err != nil {
		return found, nil, err
	}
	denied := source.Denied(ctx, c.src, r, 0, nil)
	t := c.targets[r.Address]
	atTarget, err := t.denied(ctx)
	if err != nil {
		return found, nil, err
	}
	for _, v := range atTarget {
		if slices.Contains(versions, v) {
			denied = append(denied, v)
		}
	}
	if c.rules.Latest == 0 {
		skipped = r.PreReleases(versions)
	}
	isStored := func(v provider.Version) bool { return t.has(ctx, v) }
	return Candidates{Versions: versions, Denied: denied, IsStored: isStored, Dates: Dates{}}, skipped, nil
}
