// Package mirror brings many releases of a source into OCI repositories: first a
// plan, then the work. Use it for what package publish does with one release:
//
//	mirror = many (origin registry → Release → plan → OCI repository)
package mirror

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// Options of [Run].
type Options struct {
	// Newest is how many versions that meet a requirement are mirrored, the
	// newest first; 0 means all. A requirement that names one version means that.
	Newest int
	// Target gives the repository that a provider's releases go to, and how they
	// are published there. It is asked once for each provider; two providers
	// must not have the same repository, see [publish.Targets].
	Target func(a provider.Address) (repository.Repository, publish.Options, error)
	// Done is told of each item when it has ended, one at a time.
	Done func(Result)
}

// Item is a release to mirror, as far as it could be planned.
type Item struct {
	Requirement provider.Requirement
	// Version is the zero value when Err says why no version was found.
	Version provider.Version
	Err     error
}

// Result says what became of an item.
type Result struct {
	Item
	// Repository is where the release went, as people write it; empty when that
	// is not known.
	Repository string
	publish.Result
}

// Plan says which releases are meant, in the order of the requirements, each
// once. A requirement that means none is an item with an error.
func Plan(ctx context.Context, src provider.Source, wanted []provider.Requirement, newest int) []Item {
	type release struct {
		address provider.Address
		version provider.Version
	}
	var items []Item
	seen := map[release]bool{}
	for _, r := range wanted {
		versions, err := source.Resolve(ctx, src, r, newest)
		if err != nil {
			items = append(items, Item{Requirement: r, Err: err})
		}
		for _, v := range versions {
			if key := (release{r.Address, v}); !seen[key] {
				seen[key] = true
				items = append(items, Item{Requirement: r, Version: v})
			}
		}
	}
	return items
}

// Run plans and mirrors. A failed item does not stop the others; the error is
// that of a context which ended, after which no further item is begun.
func Run(ctx context.Context, src provider.Source, wanted []provider.Requirement, o Options) error {
	// 1. Which releases, and where to.
	items := Plan(ctx, src, wanted, o.Newest)
	targets := map[provider.Address]target{}
	for _, item := range items {
		a := item.Requirement.Address
		if _, known := targets[a]; !known {
			targets[a] = newTarget(a, o)
		}
	}
	// 2. One after the other. Once one is there, the repository is the provider's.
	for _, item := range items {
		if ctx.Err() != nil {
			break
		}
		t := targets[item.Requirement.Address]
		r := t.mirror(ctx, src, item)
		t.options.Owned = t.options.Owned || r.Err == nil
		targets[item.Requirement.Address] = t
		o.Done(r)
	}
	return ctx.Err()
}

// target is where the releases of a provider go.
type target struct {
	repo    repository.Repository
	options publish.Options
	err     error
}

func newTarget(a provider.Address, o Options) target {
	var t target
	t.repo, t.options, t.err = o.Target(a)
	return t
}

// mirror brings one release there.
func (t target) mirror(ctx context.Context, src provider.Source, item Item) Result {
	r := Result{Item: item}
	if r.Err == nil {
		r.Err = t.err
	}
	if r.Err != nil {
		return r
	}
	r.Repository = t.repo.String()
	r.Result, r.Err = publish.Release(ctx, src, t.repo, item.Requirement.Address, item.Version, t.options)
	return r
}
