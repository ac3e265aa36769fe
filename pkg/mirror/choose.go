package mirror

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// maxUndated is the maximum number of consecutive versions without a date in the search for one
// that is old enough. Most origins have dates for all versions or for none.
const maxUndated = 5

// chooser selects the releases that requirements match.
type chooser struct {
	src      provider.Source
	latest   int // 0 means all
	cooldown Cooldown
	targets  map[provider.Address]target
}

// choice contains the releases that a requirement matches.
type choice struct {
	// items are sorted, newest first.
	items []Item
	// skipped contains the pre-releases that are skipped if all versions are requested. A
	// requirement must specify them exactly.
	skipped []provider.Version
}

// choose selects the releases for a requirement.
func (c chooser) choose(ctx context.Context, r provider.Requirement) choice {
	_, exact := r.Constraint.Exact()
	checksAge := c.cooldown.MinAge > 0 && !exact
	newest := c.latest
	if checksAge {
		newest = 0 // all versions can be old enough
	}
	versions, denied, skipped, err := c.resolve(ctx, r, newest)
	if err != nil {
		return choice{items: []Item{{Requirement: r, Err: err}}}
	}
	items := make([]Item, len(versions))
	for i, v := range versions {
		items[i] = Item{Requirement: r, Version: v}
	}
	switch {
	case !checksAge:
	case c.latest == 0:
		items = failUndated(c.checkAll(ctx, items))
	default:
		items = failUndated(c.checkNewest(ctx, items))
	}
	return choice{c.withDenied(r, items, denied), skipped}
}

// withDenied adds the denied versions that would otherwise be among the items. Each is reported as
// denied when it is processed.
func (c chooser) withDenied(r provider.Requirement, items []Item, denied []provider.Version) []Item {
	var chosen []provider.Version
	for _, item := range items {
		if item.Held == nil {
			chosen = append(chosen, item.Version)
		}
	}
	for _, v := range source.SkippedDenied(r, c.latest, denied, chosen) {
		items = append(items, Item{Requirement: r, Version: v})
	}
	slices.SortStableFunc(items, func(a, b Item) int { return b.Version.Compare(a.Version) })
	return items
}

// resolve returns the newest versions that meet a requirement, all denied versions, and the skipped
// pre-releases if all versions are requested.
func (c chooser) resolve(ctx context.Context, r provider.Requirement, newest int) (met, denied, skipped []provider.Version, err error) {
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
	if c.latest == 0 {
		skipped = r.PreReleases(versions)
	}
	met, err = r.Select(slices.DeleteFunc(versions, isDenied), newest)
	if err != nil && len(source.SkippedDenied(r, 0, denied, nil)) > 0 {
		err = nil // all matching versions are denied
	}
	return met, denied, skipped, err
}

// checkAll checks the age of all candidates concurrently.
func (c chooser) checkAll(ctx context.Context, candidates []Item) []Item {
	var items []Item
	schedule.Each(ctx, len(candidates), func(ctx context.Context, i int) (Item, bool) {
		return c.checkAge(ctx, candidates[i]), true
	}, func(item Item) { items = append(items, item) })
	return items
}

// checkNewest checks the age of the candidates one by one, until enough of them are old enough.
func (c chooser) checkNewest(ctx context.Context, candidates []Item) (items []Item) {
	taken, undated := 0, 0
	for _, item := range candidates {
		if taken == c.latest || undated == maxUndated || ctx.Err() != nil {
			break
		}
		item = c.checkAge(ctx, item)
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

// checkAge checks the age of a candidate, unless the target already has it.
func (c chooser) checkAge(ctx context.Context, item Item) Item {
	a, v := item.Requirement.Address, item.Version
	if c.targets[a].has(ctx, v) {
		return item
	}
	err := c.cooldown.CheckSource(ctx, c.src, a, v)
	if held, young := errors.AsType[*TooYoungError](err); young {
		item.Held = held
		return item
	}
	item.Err = err
	return item
}

// failUndated fails requirements that can never be satisfied because the origin has no publication
// date for any version.
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
