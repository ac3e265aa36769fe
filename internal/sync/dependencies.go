package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// VersionDependencies returns the modules that versions of modules call. It passes
// errors about versions to failed. See [module.FindVersionDependencies].
type VersionDependencies func(of []module.Requirement, failed func(error)) (*module.Dependencies, error)

// WithDependencies returns o with additional modules in Wanted. These are the modules
// that other modules in Wanted call, if the settings of the calling modules include
// their dependencies. The calling versions are those that [NewPlan] selects or, if
// isStored is set, those that [Stored] selects. Errors are added to Problems.
func (o Options) WithDependencies(ctx context.Context, isStored bool, find VersionDependencies) (Options, error) {
	// 1. Select the versions of the calling modules.
	var of []module.Requirement
	problems := slices.Clone(o.Problems)
	fail := func(err error) {
		if err = fmt.Errorf("dependencies: %w", err); !isStored {
			err = fmt.Errorf("%w; this run removes and denies nothing", err)
		}
		problems = append(problems, err)
	}
	reading := o.withDefaults()
	for _, w := range o.Wanted {
		if !w.IsModule() || !w.Settings.Dependencies || len(w.Requirements) == 0 {
			continue
		}
		versions, err := reading.selectModule(ctx, w, isStored)
		if err != nil {
			fail(err)
		}
		for _, v := range versions {
			of = append(of, module.Requirement{Address: module.FromRegistry(w.Address), Constraint: provider.ExactConstraint(v)})
		}
	}
	if len(of) == 0 || ctx.Err() != nil {
		o.Problems = problems
		return o, ctx.Err()
	}
	// 2. Find the modules that they call.
	found, err := find(of, fail)
	if err != nil {
		return o, err
	}
	for _, call := range found.NonRegistryCalls {
		if call.IsUnread {
			fail(errors.New(call.String()))
		}
	}
	// 3. Add their requirements.
	s := selection{declaration: o.Declaration, byAddress: map[provider.Address]*Wanted{}}
	for _, w := range o.Wanted {
		w.Requirements = slices.Clone(w.Requirements)
		s.byAddress[w.Address] = &w
	}
	for _, caller := range of {
		for _, r := range found.Of(caller) {
			s.add(Requirement{Requirement: provider.Requirement{Address: r.Address.InRegistry(), Constraint: r.Constraint}, From: caller.String(), Locked: true})
		}
	}
	o.Wanted, o.Problems = nil, problems
	for _, w := range s.byAddress {
		o.Wanted = append(o.Wanted, *w)
	}
	slices.SortFunc(o.Wanted, func(a, b Wanted) int { return a.Address.Compare(b.Address) })
	return o, nil
}

// selectModule returns the selected versions of a module that are not denied.
func (o Options) selectModule(ctx context.Context, w Wanted, isStored bool) ([]provider.Version, error) {
	if isStored {
		versions, _, err := o.stored(ctx, w)
		return versions, err
	}
	f, _ := o.gather(ctx, w)
	for {
		d := decider{facts: f, rules: rules{now: o.Now(), denials: o.Declaration.Denials}, failures: map[string]bool{}}
		chosen := map[provider.Version]bool{}
		for i, t := range f.targets {
			d.states = append(d.states, newState(t))
			for v, s := range d.selectVersions(i) {
				if t.writes && s.Held == nil && s.Err == nil && !d.isDenied(i, v) {
					chosen[v] = true
				}
			}
		}
		if len(d.undated) == 0 || ctx.Err() != nil {
			return slices.SortedFunc(maps.Keys(chosen), provider.Version.Compare), nil //nolint:nilerr // NewPlan reports the errors
		}
		mirror.FetchDates(ctx, o.source(w.Address), w.Address, provider.NewestFirst(d.undated), f.dates)
	}
}
