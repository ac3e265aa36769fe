package mirror

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// maxUndated is how many versions without a date, one after the other, are asked
// about in the search for one that is old enough: an origin has dates or has none.
const maxUndated = 5

// chooser says which releases a requirement means.
type chooser struct {
	src      provider.Source
	newest   int // 0: all
	cooldown Cooldown
	targets  map[provider.Address]target
}

// choice is what a requirement means.
type choice struct {
	// items are newest first.
	items []Item
	// leftOut are the pre-releases among all versions, which no requirement means that
	// does not name them.
	leftOut []provider.Version
}

// choose says what a requirement means.
func (c chooser) choose(ctx context.Context, r provider.Requirement) choice {
	_, exact := r.Constraint.Exact()
	waits := c.cooldown.MinAge > 0 && !exact
	newest := c.newest
	if waits {
		newest = 0 // of those that are old enough
	}
	versions, denied, leftOut, err := c.resolve(ctx, r, newest)
	if err != nil {
		return choice{items: []Item{{Requirement: r, Err: err}}}
	}
	items := make([]Item, len(versions))
	for i, v := range versions {
		items[i] = Item{Requirement: r, Version: v}
	}
	switch {
	case !waits:
	case c.newest == 0:
		items = failUndated(c.allOf(ctx, items))
	default:
		items = failUndated(c.newestOf(ctx, items))
	}
	return choice{c.withDenied(r, items, denied), leftOut}
}

// withDenied adds the denied versions that would otherwise be among the items. Each is
// reported as denied when it is processed.
func (c chooser) withDenied(r provider.Requirement, items []Item, denied []provider.Version) []Item {
	var chosen []provider.Version
	for _, item := range items {
		if item.Held == nil {
			chosen = append(chosen, item.Version)
		}
	}
	for _, v := range source.PassedOver(r, c.newest, denied, chosen) {
		items = append(items, Item{Requirement: r, Version: v})
	}
	slices.SortStableFunc(items, func(a, b Item) int { return b.Version.Compare(a.Version) })
	return items
}

// resolve returns the newest versions that meet a requirement, all denied versions, and,
// if all versions are wanted, the omitted pre-releases.
func (c chooser) resolve(ctx context.Context, r provider.Requirement, newest int) (met, denied, leftOut []provider.Version, err error) {
	if _, exact := r.Constraint.Exact(); exact {
		met, err = source.Resolve(ctx, c.src, r, newest)
		return met, nil, nil, err
	}
	versions, err := c.src.Versions(ctx, r.Address)
	if err != nil {
		return nil, nil, nil, err
	}
	denied = source.Denied(ctx, c.src, r, 0, nil)
	atTarget, err := c.targets[r.Address].denied(ctx)
	if err != nil {
		return nil, nil, nil, &provider.Error{Op: "publishing", Address: r.Address, Err: err}
	}
	isDenied := func(v provider.Version) bool { return slices.Contains(atTarget, v) }
	for _, v := range versions {
		if isDenied(v) {
			denied = append(denied, v)
		}
	}
	if c.newest == 0 {
		leftOut = r.PreReleases(versions)
	}
	met, err = r.Select(slices.DeleteFunc(versions, isDenied), newest)
	if err != nil && len(source.PassedOver(r, 0, denied, nil)) > 0 {
		err = nil // all that meet it are denied
	}
	return met, denied, leftOut, err
}

// allOf asks about all candidates, many at once.
func (c chooser) allOf(ctx context.Context, candidates []Item) []Item {
	var items []Item
	schedule.Each(ctx, len(candidates), func(ctx context.Context, i int) (Item, bool) {
		return c.aged(ctx, candidates[i]), true
	}, func(item Item) { items = append(items, item) })
	return items
}

// newestOf asks about one candidate after the other, until enough of them are old
// enough.
func (c chooser) newestOf(ctx context.Context, candidates []Item) (items []Item) {
	taken, undated := 0, 0
	for _, item := range candidates {
		if taken == c.newest || undated == maxUndated || ctx.Err() != nil {
			break
		}
		item = c.aged(ctx, item)
		items = append(items, item)
		switch {
		case item.Held == nil:
			taken, undated = taken+1, 0
		case item.Held.Published.IsZero():
			undated++
		default:
			undated = 0
		}
	}
	return items
}

// aged asks how old a candidate is, unless the target has it.
func (c chooser) aged(ctx context.Context, item Item) Item {
	a, v := item.Requirement.Address, item.Version
	if c.targets[a].has(ctx, v) {
		return item
	}
	err := c.cooldown.Ask(ctx, c.src, a, v)
	if held, young := errors.AsType[*TooYoungError](err); young {
		item.Held = held
		return item
	}
	item.Err = err
	return item
}

// failUndated makes a failure of a requirement for which nothing can be taken, now or
// later: the origin has no date of any version.
func failUndated(items []Item) []Item {
	for _, item := range items {
		if item.Held == nil || !item.Held.Published.IsZero() {
			return items
		}
	}
	if len(items) > 0 {
		items[0].Err, items[0].Held = items[0].Held, nil
	}
	return items
}
