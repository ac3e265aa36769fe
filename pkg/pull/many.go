package pull

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// ManyOptions are those of [Many].
type ManyOptions struct {
	// Options are those of each release. Concurrency is how many zips of all
	// releases move at once, those up to 1 MiB not counted.
	Options
	// FailFast begins no further release when one has failed, and none at all
	// when a requirement means none. What is under way is finished.
	FailFast bool
	// Begun and Ended are told of a requirement's release when it begins and when
	// it ends, of several at the same time and in any order. A requirement that
	// means no version only ends. Both may be nil.
	Begun func(provider.Requirement, provider.Version)
	Ended func(Pulled)
	// Done is told of each requirement when it and all before it have ended, one
	// at a time and in their order. May be nil.
	Done func(Pulled)
}

// Pulled says what became of a requirement.
type Pulled struct {
	Requirement provider.Requirement
	// Version is the zero value when Err says why no version was found.
	Version provider.Version
	// Packages are those of the release, sorted by platform.
	Packages []Result
	Err      error
}

// Many brings the newest release that each requirement means into a sink, many of
// them at once. A failure does not stop the others, unless FailFast says so; the
// error is that of a context which ended, after which no further release is begun.
func Many(ctx context.Context, src provider.Source, sink Sink, wanted []provider.Requirement, o ManyOptions) error {
	o = o.complete()
	o.Options = o.withAcquire()
	// 1. Which releases.
	var items []Pulled
	failed := false
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (Pulled, bool) {
		return newest(ctx, src, wanted[i]), true
	}, func(p Pulled) {
		failed = failed || p.Err != nil
		items = append(items, p)
	})
	if ctx.Err() == nil && failed && o.FailFast {
		for _, item := range items {
			if item.Err != nil {
				o.Ended(item)
				o.Done(item)
			}
		}
		return nil
	}
	// 2. All of them.
	turns := takeTurns(items)
	schedule.Each(ctx, len(items), func(ctx context.Context, i int) (Pulled, bool) {
		item := items[i]
		defer close(turns[i].ended)
		if turns[i].before != nil {
			<-turns[i].before
		}
		if item.Err == nil {
			o.Begun(item.Requirement, item.Version)
			item.Packages, item.Err = Release(ctx, src, sink, item.Requirement.Address, item.Version, o.Options)
		}
		o.Ended(item)
		return item, item.Err == nil || !o.FailFast
	}, o.Done)
	return ctx.Err()
}

// complete puts functions that do nothing where there are none.
func (o ManyOptions) complete() ManyOptions {
	if o.Begun == nil {
		o.Begun = func(provider.Requirement, provider.Version) {}
	}
	if o.Ended == nil {
		o.Ended = func(Pulled) {}
	}
	if o.Done == nil {
		o.Done = func(Pulled) {}
	}
	return o
}

// newest finds the version that a requirement means.
func newest(ctx context.Context, src provider.Source, r provider.Requirement) Pulled {
	versions, err := source.Resolve(ctx, src, r, 1)
	if err != nil {
		return Pulled{Requirement: r, Err: err}
	}
	return Pulled{Requirement: r, Version: versions[0]}
}

// turn lets releases whose packages could have the same names go one after the
// other, so that which of them meets the other's files does not depend on luck.
type turn struct {
	// before is closed when the one before has ended; nil where there is none.
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
