package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Gates are the gates of one run.
type Gates []Gate

// Has reports whether a gate with the given name is among the gates.
func (gs Gates) Has(name string) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.Name == name })
}

// Enforce runs the gates for a release before its tag is written, and records their
// verdicts. It returns nil if all gates allow the release, a *[HeldError] or
// *[repository.DeniedError] otherwise, and the context's error.
func (gs Gates) Enforce(ctx context.Context, repo repository.Repository, c Candidate) error {
	for _, g := range gs {
		if !g.appliesTo(c) {
			continue
		}
		if err := g.enforce(ctx, repo, c); err != nil {
			return err
		}
	}
	return nil
}

// appliesTo reports whether the gate runs for a release.
func (g Gate) appliesTo(c Candidate) bool {
	isModule := c.Release.Address.IsModule()
	return len(g.On) == 0 || isModule && slices.Contains(g.On, Module) ||
		(!isModule || c.Action == Import) && slices.Contains(g.On, c.Action)
}

// enforce runs one gate.
func (g Gate) enforce(ctx context.Context, repo repository.Repository, c Candidate) error {
	last, n := g.earlier(ctx, repo, c)
	a, valid := g.reuse(c, last)
	var denial repository.DecisionRecord
	var failure error
	if !valid {
		a, failure = g.Run(ctx, repo, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failure != nil {
			a = failed(failure)
		}
		var err error
		denial, err = g.record(ctx, repo, c, a, last, n)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failure = errors.Join(failure, fmt.Errorf("recording the decision: %w", err))
		}
	}
	switch {
	case a.Verdict == Deny && failure == nil:
		return &repository.DeniedError{Record: denial}
	case failure != nil:
		return &HeldError{Gate: g.Name, Err: failure}
	case a.Verdict == Hold:
		return &HeldError{Gate: g.Name, Reason: a.Reason}
	}
	return nil
}
