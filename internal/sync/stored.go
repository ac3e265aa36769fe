package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Stored selects versions like [NewPlan], but only from the versions in the first
// target of each provider and module. It returns an exact requirement for each version
// that isn't denied. It also returns all repositories, including those without selected
// versions, because they can contain denials. For a module, the address is a
// [provider.ModuleAddress] with the module's registry address instead of a repository.
// Versions that the declaration specifies exactly are selected even if they are missing
// from the target. If the selection could be incomplete, Stored returns an error.
func Stored(ctx context.Context, o Options) (wanted []provider.Requirement, from map[provider.Address]template.Reference, err error) {
	o = o.withDefaults()
	if err := o.Declaration.CheckRepositories(o.Wanted); err != nil {
		return nil, nil, err
	}
	type selected struct {
		address  provider.Address
		versions []provider.Version
		from     template.Reference
		err      error
	}
	from = map[provider.Address]template.Reference{}
	problems := slices.Clone(o.Problems)
	schedule.Each(ctx, len(o.Wanted), func(ctx context.Context, i int) (s selected, ok bool) {
		if s.address = o.Wanted[i].Address; s.address.IsRegistryModule() {
			s.address = provider.ModuleAddress(module.FromRegistry(s.address).String())
		}
		s.versions, s.from, s.err = o.stored(ctx, o.Wanted[i])
		return s, true
	}, func(s selected) {
		if s.err != nil {
			problems = append(problems, fmt.Errorf("selecting versions of %s: %w", s.address, s.err))
		}
		for _, v := range s.versions {
			wanted = append(wanted, provider.Requirement{Address: s.address, Constraint: provider.ExactConstraint(v)})
		}
		from[s.address] = s.from
	})
	return wanted, from, errors.Join(append(problems, ctx.Err())...)
}

// stored selects versions of one provider or module. The candidates include denied
// versions, so that a requirement that only denied versions meet is not an error.
func (o Options) stored(ctx context.Context, w Wanted) (versions []provider.Version, from template.Reference, err error) {
	t := o.Declaration.targetsOf(w.Settings)[0]
	if from, err = t.repository(w.Address); err != nil {
		return nil, from, err
	}
	repo, err := o.Open(from)
	if err != nil {
		return nil, from, err
	}
	one := targetFacts{name: t.Name, from: -1}
	if err := o.readTarget(ctx, &one, repo); err != nil {
		return nil, from, err
	}
	d := decider{
		facts: facts{wanted: w, versions: slices.Concat(one.tags.Tagged(), one.tags.Denied()), targets: []targetFacts{one}}, rules: rules{denials: o.Declaration.Denials},
		states: []*state{newState(one)}, failures: map[string]bool{},
	}
	for _, v := range newestFirst(d.selectVersions(0)) {
		if !d.isDenied(0, v) {
			versions = append(versions, v)
		}
	}
	var problems []error
	for _, failed := range d.actions {
		problems = append(problems, failed.Err)
	}
	return versions, from, errors.Join(problems...)
}

// Import returns the repository of a provider or module in its first target. It also
// sets the options for importing versions from a bundle. For a module, a is a
// [provider.ModuleAddress] with the module's registry address instead of a repository.
func (d *Declaration) Import(a provider.Address, p trust.Policy, o *publish.Options) (to template.Reference, err error) {
	stored := a
	if a.IsModule() {
		if stored, err = ParseAddress(a.Type); err != nil {
			return to, err
		}
	}
	s, verify := d.Settings(stored), d.Verifier(p)
	o.Aliases, o.Stage, o.Gates = s.Aliases, s.Stage, d.gates.Option()
	o.Verify = func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		for _, block := range d.Denials {
			if block.Denies(stored, r.Version) {
				return provider.Verdict{}, &repository.DeniedError{Record: repository.DecisionRecord{
					Decision:   artifact.Decision{Kind: artifact.DecisionDeny, Verdict: artifact.VerdictDeny, Reason: block.Reason, By: block.By},
					Repository: to.String(), Tag: artifact.Tag(r.Version),
				}}
			}
		}
		return verify(ctx, r)
	}
	to, err = d.targetsOf(s)[0].repository(stored)
	return to, err
}

// Verifier returns a function that verifies the signatures of releases according to the
// settings of their providers. It accepts all modules, because module registries have no signatures.
func (d *Declaration) Verifier(p trust.Policy) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		if r.Address.IsModule() {
			return provider.Verdict{}, nil
		}
		p := p
		p.Mode = d.Settings(r.Address).Signatures
		return p.VerifySignature(ctx, r)
	}
}
