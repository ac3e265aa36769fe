package mirror

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Item is a release to mirror or to copy, as far as it could be planned.
type Item struct {
	Requirement provider.Requirement
	// Version is the zero value when Err says why no version was found.
	Version provider.Version
	// Held says why the release is not mirrored now, which is no failure; nil for all
	// others.
	Held *TooYoungError
	Err  error
}

// LeftOut says which pre-releases of a provider were left out where all versions were
// asked for: each has to be named exactly.
type LeftOut struct {
	Address     provider.Address
	PreReleases []provider.Version
}

// isNamed reports whether the requirement names exactly this version.
func (i Item) isNamed() bool {
	_, exact := i.Requirement.Constraint.Exact()
	return exact
}

// planOf makes one list of what is chosen for each requirement, and one of the
// pre-releases that none of them means.
func planOf(ctx context.Context, wanted []provider.Requirement, c chooser) (items []Item, leftOut []LeftOut) {
	var all []choice
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (chosen choice, goOn bool) {
		return c.choose(ctx, wanted[i]), true
	}, func(chosen choice) { all = append(all, chosen) })
	for _, r := range wanted[len(all):] {
		all = append(all, choice{items: []Item{{Requirement: r, Err: ctx.Err()}}})
	}
	items = each(all)
	return items, leftOutOf(wanted, all, items)
}

// release is one version of one provider.
type release struct {
	address provider.Address
	version provider.Version
}

func (i Item) release() release { return release{i.Requirement.Address, i.Version} }

// each returns the items in order, each release once. One that is taken for some
// requirement is not held back for another.
func each(all []choice) []Item {
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
			at, is := planned[key]
			switch {
			case item.Version == (provider.Version{}): // an error, of which each requirement has its own
				items = append(items, item)
			case is && item.isNamed():
				items[at].Requirement = item.Requirement
			case is, item.Held != nil && taken[key]:
			default:
				planned[key] = len(items)
				items = append(items, item)
			}
		}
	}
	return items
}

// leftOutOf gives, for each provider, the pre-releases that are no item.
func leftOutOf(wanted []provider.Requirement, all []choice, items []Item) []LeftOut {
	planned := map[release]bool{}
	for _, item := range items {
		planned[item.release()] = true
	}
	var left []LeftOut
	for i, chosen := range all {
		one := LeftOut{Address: wanted[i].Address}
		for _, v := range chosen.leftOut {
			if key := (release{one.Address, v}); !planned[key] {
				planned[key] = true
				one.PreReleases = append(one.PreReleases, v)
			}
		}
		if len(one.PreReleases) > 0 {
			left = append(left, one)
		}
	}
	return left
}
