package trust

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// evaluation evaluates the signatures of one release.
type evaluation struct {
	policy Policy
	rule   Rule
	// pinned reports whether the rule has fingerprints.
	pinned bool
	// offered reports whether the origin registry offers the keys of the release.
	offered bool
	// registryModule reports whether the release is a mirrored module. Module registries
	// have no signatures, so a warning about each module would only distract.
	registryModule bool
}

// verify returns the verdict for a signed document. If one signature is bad, the
// verdict is bad. Otherwise, the strongest verdict applies.
func (w evaluation) verify(e signedDocument) provider.Verdict {
	if e.sums == nil || len(e.signatures) == 0 {
		return provider.Verdict{Trust: provider.TrustUnsigned}
	}
	var best provider.Verdict
	seen := 0
	for _, document := range e.signatures {
		packets, err := splitSignatures(document.content)
		if err == nil && seen+len(packets) > maxSignatures {
			err = fmt.Errorf("more than %d signatures", maxSignatures)
		}
		if err != nil {
			return provider.Verdict{Trust: provider.TrustBad, Reason: document.name + ": " + err.Error()}
		}
		for _, s := range packets {
			v := w.verdict(e, s)
			if v.Trust == provider.TrustBad {
				v.Reason = document.name + ": " + v.Reason
				return v
			}
			if seen++; seen == 1 || rank(v) > rank(best) {
				best = v
			}
		}
	}
	return best
}

func (w evaluation) verdict(e signedDocument, s signaturePacket) provider.Verdict {
	// 1. Find the key that made the signature. Keys in the keyring take precedence.
	c := check(e.sums, s, w.policy.Keyring.keys)
	inRing := c.key != nil
	if c.validity == notTheirs {
		c = check(e.sums, s, e.keys)
	}
	v := provider.Verdict{Fingerprint: c.issuer, Expired: c.since}
	if c.key != nil {
		v.Fingerprint = fingerprintOf(c.key.PrimaryKey.Fingerprint)
		if id := c.key.PrimaryIdentity(); id != nil {
			v.Signer = id.Name
		}
	}
	// 2. Decide whether to trust the key.
	trusted, exclusive := w.isTrusted(c, s, inRing, e)
	switch c.validity {
	case bad:
		v.Trust, v.Reason = provider.TrustBad, c.problem
	case revoked:
		v.Trust = provider.TrustRevoked
	case notTheirs:
		if v.Trust = provider.TrustUnknown; exclusive {
			v.Trust = provider.TrustUntrusted
		}
	case good, expired:
		switch {
		case !trusted && exclusive:
			v.Trust = provider.TrustUntrusted
		case !trusted:
			v.Trust = provider.TrustUnpinned
		case c.validity == expired:
			v.Trust = provider.TrustExpired
		default:
			v.Trust = provider.TrustSigned
		}
	}
	// 3. Check that the signed files belong to this version.
	if e.misnamed != "" && (v.Trust == provider.TrustSigned || v.Trust == provider.TrustExpired) {
		v.Trust = provider.TrustUnpinned
		v.Reason = "the signed checksums list the package as " + e.misnamed + ", a file name without a version"
	}
	return v
}

// isTrusted reports whether the key that made a signature is trusted, and whether every
// other key is untrusted.
func (w evaluation) isTrusted(c signatureCheck, s signaturePacket, inRing bool, e signedDocument) (trusted, exclusive bool) {
	switch {
	case w.policy.Mode == ModeOff:
		return w.offered || inRing, false
	case w.pinned && c.key != nil:
		trusted = slices.ContainsFunc(c.fingerprints(s), func(f string) bool { return slices.Contains(w.rule.Fingerprints, f) })
		return trusted, true
	case w.pinned: // the pinned key might not be available
		return false, !slices.Contains(w.rule.Fingerprints, c.issuer)
	case !w.policy.Keyring.IsZero():
		return inRing, true
	case w.offered && e.someKeys:
		return true, true
	}
	return false, false
}

// problem returns the problem with a verdict, or an empty string. refused reports
// whether the release is refused.
func (w evaluation) problem(v provider.Verdict, version provider.Version) (problem string, refused bool) {
	require := w.policy.Mode == ModeRequire
	switch v.Trust {
	case provider.TrustBad:
		return sentence("the signature does not match these checksums", v.Reason), true
	case provider.TrustSigned:
		return "", false
	}
	if w.policy.Mode == ModeOff {
		return "", false
	}
	switch v.Trust {
	case provider.TrustRevoked:
		return "the key's owner has revoked the key", true
	case provider.TrustUntrusted:
		return w.untrusted(), true
	case provider.TrustExpired:
		return w.expired().apply(notValid)
	case provider.TrustUnknown:
		enforced := require || w.pinned || w.policy.EnforceValidation
		return "the key for this signature is missing", enforced
	case provider.TrustUnsigned:
		if w.registryModule && w.rule.Unsigned == "" && w.unsigned(version) == warn {
			return "", false
		}
		return w.unsigned(version).apply("nothing proves its origin")
	case provider.TrustUnpinned:
		if require || w.pinned {
			return cmp.Or(v.Reason, "the key is stored with the release, but is neither pinned nor in a keyring"), true
		}
		if !v.Expired.IsZero() {
			return w.expired().apply(notValid)
		}
		return v.Reason, false
	}
	return "", false
}

func (w evaluation) untrusted() string {
	switch {
	case w.pinned:
		return "the trust file pins " + w.rule.Pattern.String() + " to different keys"
	case !w.policy.Keyring.IsZero():
		return "the key is not in the keyring"
	}
	return "the origin registry lists different keys"
}

const notValid = "the key or the signature has expired"

// expired returns the action for expired keys and signatures.
func (w evaluation) expired() action {
	switch {
	case w.rule.Expired != "":
		return w.rule.Expired
	case w.policy.EnforceExpiration:
		return refuse
	}
	return warn
}

// unsigned returns the action for an unsigned release.
func (w evaluation) unsigned(version provider.Version) action {
	switch {
	case w.rule.SignedSince != (provider.Version{}) && version.Compare(w.rule.SignedSince) < 0:
		return warn
	case w.rule.Unsigned != "":
		return w.rule.Unsigned
	case w.pinned || w.policy.Mode == ModeRequire || w.policy.EnforceValidation:
		return refuse
	}
	return warn
}
