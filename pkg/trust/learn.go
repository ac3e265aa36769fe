package trust

import (
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Learn makes the rule that pins a provider to what its releases are signed by now:
// trust on first use. Releases without a signature are warned of from then on, or
// allowed before the first signed version where all later ones are signed. The
// verdicts are in the order of the releases. A release whose signature is bad, is
// by a revoked key, or is by a key that is not at hand, gives nothing to go by: the
// error is a *[RefusedError].
func (p Policy) Learn(ctx context.Context, a provider.Address, releases ...provider.Release) (Rule, []provider.Verdict, error) {
	pattern, err := provider.ParsePattern(a.String())
	if err != nil {
		return Rule{}, nil, err
	}
	rule, found := Rule{Pattern: pattern}, []provider.Verdict{}
	p.Mode = ModeOff // what is learned is not refused for not being known
	var signed, unsigned []provider.Version
	for _, r := range releases {
		v, err := p.Judge(ctx, r)
		if err == nil && slices.Contains([]provider.Trust{provider.TrustRevoked, provider.TrustUnknown}, v.Trust) {
			err = &RefusedError{Address: a, Version: r.Version, Verdict: v, Problem: "there is no key to pin it to"}
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

// allow lets unsigned versions be.
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
