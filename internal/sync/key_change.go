package sync

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// KeyChange specifies what happens to a release from an origin registry if it isn't
// signed with the key of the previous version in the target. The empty value is
// [KeyChangeHold].
type KeyChange string

const (
	// KeyChangeHold publishes the release as pending, so that it must be approved.
	KeyChangeHold KeyChange = "hold"
	// KeyChangeWarn publishes the release, with a warning.
	KeyChangeWarn KeyChange = "warn"
	// KeyChangeRefuse refuses the release.
	KeyChangeRefuse KeyChange = "refuse"
)

// refusing returns verify, extended by the rule of [KeyChangeRefuse].
func (k KeyChange) refusing(verify func(context.Context, provider.Release) (provider.Verdict, error)) func(context.Context, provider.Release) (provider.Verdict, error) {
	return func(ctx context.Context, r provider.Release) (provider.Verdict, error) {
		v, err := verify(ctx, r)
		if err == nil && k == KeyChangeRefuse && v.KeyChange != "" {
			err = &trust.RefusedError{Address: r.Address, Version: r.Version, Verdict: v, Problem: v.KeyChange}
		}
		return v, err
	}
}

// holding returns gates, extended by the rule of [KeyChangeHold].
func (k KeyChange) holding(gates gate.Gates) publish.Gates {
	if k == KeyChangeWarn || k == KeyChangeRefuse {
		return gates.Option()
	}
	return keyGates{gates}
}

// keyGates are gates that also hold releases whose signing key has changed. A held
// release waits for an approval. Later releases are then compared with the approved
// release.
type keyGates struct{ gate.Gates }

// Enforce implements [publish.Gates].
func (g keyGates) Enforce(ctx context.Context, repo repository.Repository, c publish.Candidate) (*publish.HeldError, error) {
	// The gates decide first, because they can also deny the release.
	held, err := g.Gates.Enforce(ctx, repo, c)
	if held == nil && err == nil && c.Signature.KeyChange != "" {
		held = &publish.HeldError{Reason: c.Signature.String() + ": " + c.Signature.KeyChange}
	}
	return held, err
}
