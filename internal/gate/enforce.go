package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Decides implements [publish.Gates].
func (gs Gates) Decides(c publish.Candidate) bool {
	return slices.ContainsFunc(gs, func(g Gate) bool { return g.appliesTo(c) })
}

// Enforce runs the gates for a release until one of them doesn't allow the release. It
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

// enforce runs one gate and records its verdict.
func (g Gate) enforce(ctx context.Context, repo repository.Repository, c publish.Candidate) (*publish.HeldError, error) {
	r, failure := g.Run(ctx, repo, c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if failure != nil {
		r = failed(failure)
	}
	d := g.decision(repo, c, r)
	if err := record(ctx, repo, c, d); err != nil {
		failure = errors.Join(failure, fmt.Errorf("recording the decision: %w", err))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case failure != nil:
		return &publish.HeldError{Gate: g.Name, Err: failure}, nil
	case r.Verdict == Deny:
		return nil, &repository.DeniedError{Record: repository.DecisionRecord{
			Decision: d, Repository: repo.String(), Tag: artifact.Tag(c.Release.Version), Index: d.Index,
		}}
	case r.Verdict == Hold:
		return &publish.HeldError{Gate: g.Name, Reason: r.Reason}, nil
	}
	return nil, nil
}

// decision returns the record of the gate's verdict on a release.
func (g Gate) decision(repo repository.Reader, c publish.Candidate, r Result) artifact.Decision {
	d := repository.NewDecision(repo, artifact.DecisionGate, string(r.Verdict), c.Release.Address, c.Release.Version)
	d.Index, d.Gate, d.By, d.Reason = c.Index.Descriptor.Digest, g.id(), "gate "+g.Name, r.Reason
	return d
}

// record stores a decision only for audits, because gates decide again about each tag.
// If the registry can't store referrers lists, nothing is recorded.
func record(ctx context.Context, repo repository.Repository, c publish.Candidate, d artifact.Decision) error {
	err := repo.PushManifest(ctx, c.Index)
	if err == nil {
		err = repository.Record(ctx, repo, d, c.Index.Descriptor, c.Signer)
	}
	if errors.Is(err, repository.ErrNoReferrersList) {
		err = nil
	}
	return err
}
