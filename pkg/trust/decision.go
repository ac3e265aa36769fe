package trust

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// RequiresApproval reports whether the releases of a provider must be approved.
func (p Policy) RequiresApproval(a provider.Address) bool {
	rule, _ := p.Rules.For(a)
	return len(rule.ApprovalKeys) > 0
}

// HasApprovalRules reports whether the releases of any provider must be approved.
func (p Policy) HasApprovalRules() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return len(r.ApprovalKeys) > 0 })
}

// CheckApproval returns a *[RefusedError] if the rule for a provider has approval keys,
// but none of them has signed an approval of the release. A later denial revokes the
// approval only if one of the keys has signed the denial. Otherwise, anyone with write
// access to the repository could revoke approvals. Sources check the tag of a denial,
// which needs no signature. CheckApproval also returns the errors of Decisions.
func (p Policy) CheckApproval(ctx context.Context, r provider.Release) error {
	return p.checkApproval(ctx, r, provider.Verdict{})
}

func (p Policy) checkApproval(ctx context.Context, r provider.Release, v provider.Verdict) error {
	if !p.RequiresApproval(r.Address) {
		return nil
	}
	var decisions []artifact.SignedDecision
	err := provider.ErrWrongSource
	if p.Decisions != nil {
		decisions, err = p.Decisions(ctx, r)
	}
	var problem string
	switch {
	case errors.Is(err, provider.ErrWrongSource):
		problem = "an approval is required, and only releases in OCI repositories can be approved"
	case err != nil:
		return err
	default:
		problem = p.unapproved(r.Address, decisions)
	}
	if problem == "" {
		return nil
	}
	return &RefusedError{Address: r.Address, Version: r.Version, Verdict: v, Problem: problem, Unapproved: true, NoRepository: errors.Is(err, provider.ErrWrongSource)}
}

// unapproved returns the reason the decisions contain no valid approval. The oldest
// decision is first.
func (p Policy) unapproved(a provider.Address, decisions []artifact.SignedDecision) (problem string) {
	rule, _ := p.Rules.For(a)
	problem = "no approval is recorded"
	for _, d := range decisions {
		switch isSigned := p.isApprover(rule, d); {
		case d.Kind == artifact.DecisionDeny:
			if isSigned {
				problem = "the last decision is a denial"
			}
		case d.Verdict != artifact.VerdictAllow || d.Kind == artifact.DecisionGate:
		case isSigned:
			problem = ""
		case problem != "":
			problem = "the approval is not signed by an approval key"
		}
	}
	return problem
}

// isApprover reports whether a decision is signed by a key that can approve releases.
func (p Policy) isApprover(rule Rule, d artifact.SignedDecision) bool {
	stored, _ := parseKeys(d.Keys)
	isListed := func(fingerprint string) bool { return slices.Contains(rule.ApprovalKeys, fingerprint) }
	signer, _ := signerOf(d.Statement, d.Signature, slices.Concat(p.Keyring.keys, stored), isListed)
	return signer != ""
}

// DecisionSigner returns the fingerprint of the primary key that made a valid signature
// of a decision. If the keyring is the zero value, the key is taken from the decision,
// so the result doesn't prove the signer's identity. If no key made a valid signature,
// or if the key is expired or revoked, DecisionSigner returns an empty string.
func (k Keyring) DecisionSigner(d artifact.SignedDecision) string {
	keys := k.keys
	if k.IsZero() {
		keys, _ = parseKeys(d.Keys)
	}
	signer, _ := signerOf(d.Statement, d.Signature, keys, func(string) bool { return true })
	return signer
}
