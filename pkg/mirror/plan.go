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

// Plan says which releases are meant, in the order of the requirements, each
// once. A requirement that means none is an item with an error.
func Plan(ctx context.Context, src provider.Source, wanted []provider.Requirement, newest int) []Item {
	return planOf(ctx, wanted, chooser{src: src, newest: newest})
}

// planOf makes one list of what is chosen for each requirement.
func planOf(ctx context.Context, wanted []provider.Requirement, c chooser) []Item {
	var all [][]Item
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (chosen []Item, goOn bool) {
		return c.choose(ctx, wanted[i]), true
	}, func(chosen []Item) { all = append(all, chosen) })
	for _, r := range wanted[len(all):] {
		all = append(all, []Item{{Requirement: r, Err: ctx.Err()}})
	}
	return each(all)
}

// each gives the items in order, each release once. One that is taken for some
// requirement is not held back for another.
func each(all [][]Item) []Item {
	type release struct {
		address provider.Address
		version provider.Version
	}
	taken, planned := map[release]bool{}, map[release]bool{}
	for _, chosen := range all {
		for _, item := range chosen {
			key := release{item.Requirement.Address, item.Version}
			taken[key] = taken[key] || item.Held == nil
		}
	}
	var items []Item
	for _, chosen := range all {
		for _, item := range chosen {
			key := release{item.Requirement.Address, item.Version}
			switch {
			case item.Version == (provider.Version{}): // an error, of which each requirement has its own
				items = append(items, item)
			case planned[key], item.Held != nil && taken[key]:
			default:
				planned[key] = true
				items = append(items, item)
			}
		}
	}
	return items
}
