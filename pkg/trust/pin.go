package trust

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// PinSigners returns a rule that pins a provider to the keys that signed the given
// releases (trust on first use). It also returns the verdicts of the releases in the
// same order. If all releases are signed, the rule refuses unsigned releases. If all
// unsigned releases are older than the signed releases, the rule refuses unsigned
// releases starting with the first signed version. Otherwise, it warns about unsigned
// releases. PinSigners returns a *[RefusedError] if a signature is bad, or was made by
// a revoked or unknown key.
func (p Policy) PinSigners(ctx context.Context, a provider.Address, releases ...provider.Release) (Rule, []provider.Verdict, error) {
	pattern, err := provider.ParsePattern(a.String())
	if err != nil {
		return Rule{}, nil, err
	}
	rule, found := Rule{Pattern: pattern}, []provider.Verdict{}
	p.Mode = ModeOff // untrusted keys are not refused, because no fingerprint is pinned yet
	var signed, unsigned []provider.Version
	for _, r := range releases {
		v, err := p.Verify(ctx, r)
		if err == nil && slices.Contains([]provider.Trust{provider.TrustRevoked, provider.TrustUnknown}, v.Trust) {
			err = &RefusedError{Address: a, Version: r.Version, Verdict: v, Problem: "no key to pin"}
		}
		if _, refused := errors.AsType[*RefusedError](err); err != nil && !refused {
			return rule, found, err
		}
		found = append(found, v)
		if err != nil {
			return rule, found, err
		}
		if v.Trust == provider.TrustUnsigned {
			unsigned = append(unsigned, r.Version)
			continue
		}
		signed = append(signed, r.Version)
		if !slices.Contains(rule.Fingerprints, v.Fingerprint) {
			rule.Fingerprints = append(rule.Fingerprints, v.Fingerprint)
		}
	}
	rule.allow(signed, unsigned)
	return rule, found, nil
}

// allow sets the rule's action for unsigned versions.
func (r *Rule) allow(signed, unsigned []provider.Version) {
	switch {
	case len(unsigned) == 0:
		r.Unsigned = refuse
	case len(signed) > 0 && provider.NewestFirst(unsigned)[0].Compare(oldest(signed)) < 0:
		r.Unsigned, r.SignedSince = refuse, oldest(signed)
	default:
		r.Unsigned = warn
	}
}

func oldest(versions []provider.Version) provider.Version {
	all := provider.NewestFirst(versions)
	return all[len(all)-1]
}
