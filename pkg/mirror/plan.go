package mirror

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// Item is a release to mirror, as far as it could be planned.
type Item struct {
	Requirement provider.Requirement
	// Version is the zero value when Err says why no version was found.
	Version provider.Version
	Err     error
}

// Plan says which releases are meant, in the order of the requirements, each
// once. A requirement that means none is an item with an error.
func Plan(ctx context.Context, src provider.Source, wanted []provider.Requirement, newest int) []Item {
	type resolved struct {
		versions []provider.Version
		err      error
	}
	var all []resolved
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (r resolved, goOn bool) {
		r.versions, r.err = source.Resolve(ctx, src, wanted[i], newest)
		return r, true
	}, func(r resolved) { all = append(all, r) })

	type release struct {
		address provider.Address
		version provider.Version
	}
	var items []Item
	planned := map[release]bool{}
	for i, r := range wanted {
		if i >= len(all) {
			items = append(items, Item{Requirement: r, Err: ctx.Err()})
			continue
		}
		if err := all[i].err; err != nil {
			items = append(items, Item{Requirement: r, Err: err})
		}
		for _, v := range all[i].versions {
			if key := (release{r.Address, v}); !planned[key] {
				planned[key] = true
				items = append(items, Item{Requirement: r, Version: v})
			}
		}
	}
	return items
}
