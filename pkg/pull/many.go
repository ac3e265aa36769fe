package pull

import (
	"cmp"
	"context"
	"errors"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// ManyOptions configures [Many].
type ManyOptions struct {
	// Options configures each release. Concurrency limits the total number of
	// concurrent transfers of all releases, except transfers of zips up to 1 MiB.
	Options
	// FailFast prevents new releases from starting after the first failure. If a
	// requirement selects no version, no release is started. Transfers in progress are
	// completed.
	FailFast bool
	// Latest is the maximum number of matching versions that are pulled per requirement,
	// starting with the newest. If zero, only the newest version is pulled. If negative,
	// all are.
	Latest int
	// OnSelect, if not nil, is called with the versions that a requirement selects, newest
	// first. Calls are sequential and in the order of the requirements, before any
	// release is pulled.
	OnSelect func(provider.Requirement, []provider.Version)
	// OnStart and OnFinish, if not nil, are called when the pull of a requirement's
	// release starts and when it finishes. They can be called concurrently and in any
	// order. If a requirement selects no version, only OnFinish is called.
	OnStart  func(provider.Requirement, provider.Version)
	OnFinish func(Pulled)
	// OnResult, if not nil, is called for each release after this release and all
	// preceding releases have finished. Calls are sequential, in the order of the
	// requirements, and newest version first.
	OnResult func(Pulled)
	// OnWithdrawn, if not nil, is called for each version that was removed from the
	// lists of a network mirror ([LayoutNetwork]) because the source denies it.
	OnWithdrawn func(provider.Address, provider.Version)
}

// Pulled is the result for a version that a requirement selects.
type Pulled struct {
	Requirement provider.Requirement
	// Version is the selected version. It is the zero value if no version was found.
	Version provider.Version
	// Packages lists the packages of the release, sorted by platform.
	Packages []Result
	Err      error
}

// Many pulls the newest releases for each requirement into a sink, concurrently. Failures
// are passed to the callbacks and don't stop the other releases, unless FailFast is
// set. If the context is canceled, Many starts no more releases and returns an error.
//
// If the sink is a network mirror, Many removes the providers' denied versions from the
// mirror's lists, so that clients can't install versions that earlier runs have pulled.
// Many keeps the zips.
func Many(ctx context.Context, src provider.Source, sink Sink, wanted []provider.Requirement, o ManyOptions) error {
	o = o.complete()
	o.Options = o.withAcquire()
	// 1. Select the versions.
	var items []Pulled
	failed := false
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) ([]Pulled, bool) {
		return o.choose(ctx, src, wanted[i]), true
	}, func(found []Pulled) {
		items = append(items, found...)
		if found[0].Err != nil {
			failed = true
			return
		}
		var versions []provider.Version
		for _, p := range found {
			versions = append(versions, p.Version)
		}
		o.OnSelect(found[0].Requirement, versions)
	})
	if ctx.Err() == nil && failed && o.FailFast {
		for _, item := range items {
			if item.Err != nil {
				o.OnFinish(item)
				o.OnResult(item)
			}
		}
		return nil
	}
	// 2. Pull the releases.
	turns := takeTurns(items)
	schedule.Each(ctx, len(items), func(ctx context.Context, i int) (Pulled, bool) {
		item := items[i]
		defer close(turns[i].ended)
		if turns[i].before != nil {
			<-turns[i].before
		}
		if item.Err == nil {
			o.OnStart(item.Requirement, item.Version)
			item.Packages, item.Err = Release(ctx, src, sink, item.Requirement.Address, item.Version, o.Options)
		}
		o.OnFinish(item)
		return item, item.Err == nil || !o.FailFast
	}, o.OnResult)
	// 3. Remove denied versions from a network mirror.
	network, ok := sink.(*networkSink)
	denied := provider.CapabilitiesOf(src).Denied
	if !ok || denied == nil {
		return ctx.Err()
	}
	var errs []error
	for _, r := range wanted {
		versions, _ := denied(ctx, r.Address) // Resolve returns the errors of the source
		removed, err := network.lists.remove(ctx, r.Address, versions)
		for _, v := range removed {
			o.OnWithdrawn(r.Address, v)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// complete replaces nil callbacks with functions that do nothing.
func (o ManyOptions) complete() ManyOptions {
	if o.OnSelect == nil {
		o.OnSelect = func(provider.Requirement, []provider.Version) {}
	}
	if o.OnStart == nil {
		o.OnStart = func(provider.Requirement, provider.Version) {}
	}
	if o.OnFinish == nil {
		o.OnFinish = func(Pulled) {}
	}
	if o.OnResult == nil {
		o.OnResult = func(Pulled) {}
	}
	if o.OnWithdrawn == nil {
		o.OnWithdrawn = func(provider.Address, provider.Version) {}
	}
	return o
}

// choose returns the versions that a requirement selects, or the error.
func (o ManyOptions) choose(ctx context.Context, src provider.Source, r provider.Requirement) (found []Pulled) {
	versions, err := source.Resolve(ctx, src, r, max(cmp.Or(o.Latest, 1), 0))
	if err != nil {
		return []Pulled{{Requirement: r, Err: err}}
	}
	for _, v := range versions {
		found = append(found, Pulled{Requirement: r, Version: v})
	}
	return found
}

// turn serializes releases whose packages could have the same file names, so that the
// result doesn't depend on timing.
type turn struct {
	// before is closed when the previous release has finished. It is nil for the first
	// release.
	before <-chan struct{}
	ended  chan struct{}
}

func takeTurns(items []Pulled) []turn {
	type name struct {
		providerType string
		version      provider.Version
	}
	last := map[name]chan struct{}{}
	turns := make([]turn, len(items))
	for i, item := range items {
		n := name{item.Requirement.Address.Type, item.Version}
		turns[i] = turn{before: last[n], ended: make(chan struct{})}
		last[n] = turns[i].ended
	}
	return turns
}
