// Package mirror brings many releases of a source into OCI repositories: first a
// plan, then the work. Use it for what package publish does with one release:
//
//	mirror = many (origin registry → Release → plan → OCI repository)
//	copy   = many (OCI repository → the same bytes in another OCI repository)
package mirror

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Options of [Run] and [Copy]. Only Target is needed.
type Options struct {
	// Newest is how many versions that meet a requirement are taken, the newest
	// first; 0 means all. A requirement that names one version means that.
	Newest int
	// MinAge is how old a version has to be that no requirement names exactly, by its
	// origin's date, see [Cooldown]; 0 is no matter how old. The newest that are old
	// enough are mirrored, and an Item each tells of those that are held back. A
	// version that the target has is not asked about.
	MinAge time.Duration
	// Now is the clock for MinAge, [time.Now] when nil.
	Now func() time.Time
	// Target gives the repository that a provider's releases go to, and how they
	// are published there. It is asked once for each provider, and its error is
	// that of the provider's items. Two providers that have the same repository
	// are refused: [template.CheckDistinct].
	Target func(a provider.Address) (repository.Repository, publish.Options, error)
	// Publisher is how all releases are published; nil is a new one.
	Publisher *publish.Publisher
	// FailFast begins no further item when one has failed, and none at all when
	// one can't be planned. What is under way is finished.
	FailFast bool
	// Planned is told of the items before the first is begun. May be nil.
	Planned func(items []Item)
	// LeftOut is told before the first item is begun of the pre-releases that were left
	// out because Newest is 0 and no requirement names them; not called when there are
	// none. May be nil.
	LeftOut func([]LeftOut)
	// Begun and Ended are told of an item when it begins and when it ends, of
	// several at the same time and in any order. What the plan shows to fail only
	// ends. Both may be nil.
	Begun func(Item)
	Ended func(Result)
	// Done is told of each item when it and all before it have ended, one at a
	// time and in the order of the plan. May be nil.
	Done func(Result)
}

// Result says what became of an item.
type Result struct {
	Item Item
	// Repository is where the release went, or would go, as people write it; empty when
	// that is not known.
	Repository string
	// Published is what was found and done there, as far as it came; nothing is for an
	// item that is held back.
	Published publish.Result
	// Err says why the item failed, also where that was known from the plan.
	Err error
}

// Run plans and mirrors, many releases at once. A failed item does not stop the
// others, unless FailFast says so; the error is that of a context which ended, after
// which no further item is begun.
func Run(ctx context.Context, src provider.Source, wanted []provider.Requirement, o Options) error {
	if o.Target == nil {
		return errors.New("mirroring: Options have no Target")
	}
	o = o.complete()
	return run(ctx, src, wanted, o, func(ctx context.Context, a provider.Address, v provider.Version, t target) (publish.Result, error) {
		return o.Publisher.Release(ctx, src, t.repo, a, v, t.options)
	})
}

// bring brings one release to its target.
type bring func(ctx context.Context, a provider.Address, v provider.Version, t target) (publish.Result, error)

// run plans, and brings each release of the plan to its target by bring.
func run(ctx context.Context, src provider.Source, wanted []provider.Requirement, o Options, bring bring) error {
	// 1. Where to.
	targets, err := newTargets(wanted, o)
	if err != nil {
		return err
	}
	// 2. Which releases.
	items, leftOut := planOf(ctx, wanted, chooser{src: src, newest: o.Newest, cooldown: Cooldown{MinAge: o.MinAge, Now: o.Now}, targets: targets})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.Planned(items)
	if len(leftOut) > 0 {
		o.LeftOut(leftOut)
	}
	if o.FailFast && reportFailed(items, targets, o) {
		return nil
	}
	// 3. All of them.
	schedule.Each(ctx, len(items), func(ctx context.Context, i int) (Result, bool) {
		item := items[i]
		a := item.Requirement.Address
		t := targets[a]
		r := Result{Item: item, Err: cmp.Or(item.Err, t.err)}
		if r.Err == nil {
			r.Repository = t.repo.String()
		}
		if r.Err == nil && item.Held == nil {
			o.Begun(item)
			t.options.SkipDenied = !item.isNamed()
			r.Published, r.Err = bring(ctx, a, item.Version, t)
			if r.Published.Status == publish.Denied {
				r.Repository = r.Published.Denial.Repository // may be the source of a copy
			}
		}
		o.Ended(r)
		return r, r.Err == nil || !o.FailFast
	}, o.Done)
	return ctx.Err()
}

// complete fills in what is not given.
func (o Options) complete() Options {
	if o.Publisher == nil {
		o.Publisher = &publish.Publisher{}
	}
	if o.Planned == nil {
		o.Planned = func([]Item) {}
	}
	if o.LeftOut == nil {
		o.LeftOut = func([]LeftOut) {}
	}
	if o.Begun == nil {
		o.Begun = func(Item) {}
	}
	if o.Ended == nil {
		o.Ended = func(Result) {}
	}
	if o.Done == nil {
		o.Done = func(Result) {}
	}
	return o
}

// reportFailed tells of the items that failed before any was begun, and whether
// there are any.
func reportFailed(items []Item, targets map[provider.Address]target, o Options) (failed bool) {
	for _, item := range items {
		if err := cmp.Or(item.Err, targets[item.Requirement.Address].err); err != nil {
			failed = true
			r := Result{Item: item, Err: err}
			o.Ended(r)
			o.Done(r)
		}
	}
	return failed
}
