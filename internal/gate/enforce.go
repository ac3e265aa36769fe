package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Gates are the gates of one run. They implement [publish.Gates].
type Gates []Gate

// Option returns the gates for use in [publish.Options], or nil if the list is empty.
func (gs Gates) Option() publish.Gates {
	if len(gs) == 0 {
		return nil
	}
	return gs
}

// Has reports whether a gate with the given name is among the gates.
func (gs Gates) Has(name string) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.Name == name })
}

// Reconsider implements [publish.Gates].
func (gs Gates) Reconsider(r repository.DecisionRecord) bool {
	return (r.Verdict == artifact.VerdictAllow || r.Verdict == artifact.VerdictDeny && !time.Now().Before(r.ValidUntil)) &&
		slices.ContainsFunc(gs, func(g Gate) bool { return g.made(r) })
}

// Enforce runs the gates for a release until one of them doesn't allow the release, and
// records their verdicts.
func (gs Gates) Enforce(ctx context.Context, repo repository.Repository, c publish.Candidate) (*publish.HeldError, error) {
	for _, g := range gs {
		if !g.appliesTo(c) {
			continue
		}
		if held, err := g.enforce(ctx, repo, c); held != nil || err != nil {
			return held, err
		}
	}
	return nil, nil
}

// appliesTo reports whether the gate runs for a release.
func (g Gate) appliesTo(c publish.Candidate) bool {
	isModule := c.Release.Address.IsModule()
	return len(g.On) == 0 || isModule && slices.Contains(g.On, publish.ActionModule) ||
		(!isModule || c.Action == publish.ActionImport) && slices.Contains(g.On, c.Action)
}

// enforce runs one gate.
func (g Gate) enforce(ctx context.Context, repo repository.Repository, c publish.Candidate) (*publish.HeldError, error) {
	last, n := g.earlier(ctx, repo, c)
	a, valid := g.reuse(c, last)
	var denial repository.DecisionRecord
	var failure error
	if !valid {
		a, failure = g.Run(ctx, repo, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if failure != nil {
			a = failed(failure)
		}
		var err error
		denial, err = g.record(ctx, repo, c, a, last, n)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failure = errors.Join(failure, fmt.Errorf("recording the decision: %w", err))
		}
	}
	switch {
	case failure != nil:
		return &publish.HeldError{Gate: g.Name, Err: failure}, nil
	case a.Verdict == Deny:
		return nil, &repository.DeniedError{Record: denial}
	case a.Verdict == Hold:
		return &publish.HeldError{Gate: g.Name, Reason: a.Reason}, nil
	}
	return nil, nil
}
