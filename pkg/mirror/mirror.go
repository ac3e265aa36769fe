// Package mirror copies many releases from a source into OCI repositories, and plans
// all of them before it processes the first. To mirror or copy a single release, use
// package publish.
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

// Options configures [Run] and [Copy]. Target is required.
type Options struct {
	// Latest is the maximum number of matching versions that are mirrored per
	// requirement, starting with the newest. If zero, all matching versions are
	// mirrored. Latest is ignored for requirements that specify an exact version.
	Latest int
	// MinAge is the minimum age of a version, based on the origin's publication date.
	// See [Cooldown]. Younger versions are held back and reported as items. Versions
	// that a requirement specifies exactly, or that the target already has, are exempt.
	// If zero, versions of any age are mirrored.
	MinAge time.Duration
	// Now returns the current time for MinAge. If nil, [time.Now] is used.
	Now func() time.Time
	// Target returns the repository for a provider's releases and the options for
	// publishing to it. If Operation in the options is empty, errors from [Run] use
	// "mirroring". Target is called once per provider. If it returns an error, all
	// items of the provider fail with this error. Two providers can't share a
	// repository. See [template.CheckDistinct].
	Target func(a provider.Address) (repository.Repository, publish.Options, error)
	// Publisher publishes all releases. If nil, a new Publisher is used.
	Publisher *publish.Publisher
	// FailFast prevents new items from starting after the first failure. Items in
	// progress are completed. If planning fails for any item, no item is started.
	FailFast bool
	// OnPlan, if not nil, is called with all items before the first item starts.
	OnPlan func(items []Item)
	// OnSkip, if not nil, is called with the skipped pre-releases before the first item
	// starts. Pre-releases are skipped if Latest is zero and no requirement specifies
	// them exactly. If none are skipped, OnSkip is not called.
	OnSkip func([]Skipped)
	// OnStart and OnFinish, if not nil, are called when an item starts and finishes.
	// They can be called concurrently and in any order. For items that fail during
	// planning, only OnFinish is called.
	OnStart  func(Item)
	OnFinish func(Result)
	// OnResult, if not nil, is called for each item after this item and all preceding
	// items have finished. Calls are sequential and in the order of the plan.
	OnResult func(Result)
}

// Result is the outcome of an item.
type Result struct {
	Item Item
	// Repository is the name of the target repository, or empty if the target is unknown.
	Repository string
	// Published is the result of publishing, which can be incomplete if Err is not nil.
	// It is empty for an item that is held back.
	Published publish.Result
	// Err is the reason the item failed, possibly during planning.
	Err error
}

// Run mirrors the releases that match the requirements. If an item fails, Run still
// processes the other items unless FailFast is set. If ctx is canceled, Run starts no
// more items and returns the context's error.
func Run(ctx context.Context, src provider.Source, wanted []provider.Requirement, o Options) error {
	o = o.withDefaults()
	return RunWith(ctx, src, wanted, o, func(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, options publish.Options) (publish.Result, error) {
		options.Operation = cmp.Or(options.Operation, "mirroring")
		return o.Publisher.Release(ctx, src, repo, a, v, options)
	})
}

// PublishFunc publishes one release to a repository.
type PublishFunc func(ctx context.Context, repo repository.Repository, a provider.Address, v provider.Version, o publish.Options) (publish.Result, error)

// RunWith is like [Run], but publishes each release of the plan with publishOne.
func RunWith(ctx context.Context, src provider.Source, wanted []provider.Requirement, o Options, publishOne PublishFunc) error {
	if o.Target == nil {
		return errors.New("mirroring: Options.Target is required")
	}
	o = o.withDefaults()
	// 1. Open the targets.
	targets, err := newTargets(wanted, o)
	if err != nil {
		return err
	}
	// 2. Choose the releases.
	items, skipped := newPlan(ctx, wanted, chooser{src, Rules{Latest: o.Latest, Cooldown: Cooldown{MinAge: o.MinAge, Now: o.Now}}, targets})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.OnPlan(items)
	if len(skipped) > 0 {
		o.OnSkip(skipped)
	}
	if o.FailFast && reportFailed(items, targets, o) {
		return nil
	}
	// 3. Publish the releases.
	schedule.Each(ctx, len(items), func(ctx context.Context, i int) (Result, bool) {
		item := items[i]
		a := item.Requirement.Address
		t := targets[a]
		r := Result{Item: item, Err: cmp.Or(item.Err, t.err)}
		if r.Err == nil {
			r.Repository = t.repo.String()
		}
		if r.Err == nil && item.Held == nil {
			o.OnStart(item)
			t.options.SkipDenied = !item.isExact()
			r.Published, r.Err = publishOne(ctx, t.repo, a, item.Version, t.options)
			if r.Published.Status == publish.Denied {
				r.Repository = r.Published.Denial.Repository // for a copy, this can be the source
			}
		}
		o.OnFinish(r)
		return r, r.Err == nil || !o.FailFast
	}, o.OnResult)
	return ctx.Err()
}

// withDefaults returns the options with defaults for fields that are not set.
func (o Options) withDefaults() Options {
	if o.Publisher == nil {
		o.Publisher = &publish.Publisher{}
	}
	if o.OnPlan == nil {
		o.OnPlan = func([]Item) {}
	}
	if o.OnSkip == nil {
		o.OnSkip = func([]Skipped) {}
	}
	if o.OnStart == nil {
		o.OnStart = func(Item) {}
	}
	if o.OnFinish == nil {
		o.OnFinish = func(Result) {}
	}
	if o.OnResult == nil {
		o.OnResult = func(Result) {}
	}
	return o
}

// reportFailed reports the items that failed during planning. failed reports whether
// any item failed.
func reportFailed(items []Item, targets map[provider.Address]target, o Options) (failed bool) {
	for _, item := range items {
		if err := cmp.Or(item.Err, targets[item.Requirement.Address].err); err != nil {
			failed = true
			r := Result{Item: item, Err: err}
			o.OnFinish(r)
			o.OnResult(r)
		}
	}
	return failed
}
