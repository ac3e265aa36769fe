package mirror

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Item is a planned release.
type Item struct {
	Requirement provider.Requirement
	// Version is the planned version. If no version was found, it is the zero value, and
	// Err is the reason.
	Version provider.Version
	// Held is the reason the release is held back, or nil if it is not. A held-back
	// release is not a failure.
	Held *TooYoungError
	Err  error
}

// Skipped contains the pre-releases of a provider that were skipped because all
// versions were requested. To be mirrored, they must be specified exactly.
type Skipped struct {
	Address     provider.Address
	PreReleases []provider.Version
}

// isExact reports whether the requirement specifies exactly this version.
func (i Item) isExact() bool {
	_, exact := i.Requirement.Constraint.Exact()
	return exact
}

func newPlan(ctx context.Context, wanted []provider.Requirement, c chooser) (items []Item, skipped []Skipped) {
	var all []choice
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (chosen choice, goOn bool) {
		return c.choose(ctx, wanted[i]), true
	}, func(chosen choice) { all = append(all, chosen) })
	for _, r := range wanted[len(all):] {
		all = append(all, choice{items: []Item{{Requirement: r, Err: ctx.Err()}}})
	}
	items = mergeItems(all)
	return items, skippedIn(wanted, all, items)
}

// release identifies a version of a provider.
type release struct {
	address provider.Address
	version provider.Version
}

func (i Item) release() release { return release{i.Requirement.Address, i.Version} }

// mergeItems returns the items in order, without duplicates. A release is held back
// only if all requirements that select it hold it back.
func mergeItems(all []choice) []Item {
	taken, planned := map[release]bool{}, map[release]int{}
	for _, chosen := range all {
		for _, item := range chosen.items {
			key := item.release()
			taken[key] = taken[key] || item.Held == nil
		}
	}
	var items []Item
	for _, chosen := range all {
		for _, item := range chosen.items {
			key := item.release()
			index, exists := planned[key]
			switch {
			case item.Version == (provider.Version{}): // each requirement has its own error
				items = append(items, item)
			case exists && item.isExact():
				items[index].Requirement = item.Requirement
			case exists, item.Held != nil && taken[key]:
			default:
				planned[key] = len(items)
				items = append(items, item)
			}
		}
	}
	return items
}

// skippedIn returns each provider's skipped pre-releases that no item contains.
func skippedIn(wanted []provider.Requirement, all []choice, items []Item) []Skipped {
	planned := map[release]bool{}
	for _, item := range items {
		planned[item.release()] = true
	}
	var skipped []Skipped
	for i, chosen := range all {
		one := Skipped{Address: wanted[i].Address}
		for _, v := range chosen.skipped {
			if key := (release{one.Address, v}); !planned[key] {
				planned[key] = true
				one.PreReleases = append(one.PreReleases, v)
			}
		}
		if len(one.PreReleases) > 0 {
			skipped = append(skipped, one)
		}
	}
	return skipped
}
