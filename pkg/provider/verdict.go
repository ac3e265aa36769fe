package provider

import "time"

// Trust is the result of verifying the signature of a release.
type Trust string

// The results of verification. Only the first two results prove who created a release.
const (
	// TrustSigned means that a trusted key signed the release.
	TrustSigned Trust = "signed"
	// TrustExpired means that a trusted key signed the release, but the key or the
	// signature has expired.
	TrustExpired Trust = "expired"
	// TrustUnpinned means that the release is signed by a key that was provided with
	// the release. The signature proves that the release is consistent, but not who
	// created the release.
	TrustUnpinned Trust = "unpinned"
	// TrustUntrusted means that an untrusted key signed the release.
	TrustUntrusted Trust = "untrusted"
	// TrustRevoked means that the key that signed the release was revoked by its owner.
	TrustRevoked Trust = "revoked"
	// TrustUnknown means that the key needed to verify the signature is missing.
	TrustUnknown Trust = "unknown-key"
	// TrustUnsigned means that the release has no signature.
	TrustUnsigned Trust = "unsigned"
	// TrustBad means that the signature does not match the checksums.
	TrustBad Trust = "bad"
)

// Trusts lists all results of verification, from the weakest to the strongest.
var Trusts = []Trust{TrustBad, TrustRevoked, TrustUntrusted, TrustUnsigned, TrustUnknown, TrustUnpinned, TrustExpired, TrustSigned}

// Verdict is the result of verifying the signature of a release. The zero value means
// that the signature was not verified.
type Verdict struct {
	Trust Trust
	// Fingerprint is the fingerprint of the primary key that signed the release, in
	// upper-case hexadecimal digits. If the key is unknown, it is the identifier in the
	// signature, which can be a key ID of 16 digits or empty.
	Fingerprint string
	// Signer is the primary user ID of this key, such as "Jane <jane@example.com>". The
	// owner of the key chose this text, so it proves nothing. It is empty if the key is
	// unknown.
	Signer string
	// Expired is the time at which the key or the signature expired. It is zero if
	// neither has expired or the time is unknown.
	Expired time.Time
	// Reason is a short explanation. It is empty if Trust is sufficient.
	Reason string
	// Warning is a sentence for users if the release was accepted despite a problem
	// with its signature. Otherwise, it is empty.
	Warning string
	// KeyChange describes a change from the previous version's signature: a different
	// key, or a signature that no key verifies. It is part of Warning. It is empty if
	// the signatures were not compared, or if both are by the same key.
	KeyChange string
}

// String returns a short text, such as "signed by FINGERPRINT" or "unsigned".
func (v Verdict) String() string {
	by := "signed"
	if v.Fingerprint != "" {
		by += " by " + v.Fingerprint
	}
	switch v.Trust {
	case TrustSigned:
		return by
	case TrustExpired:
		return by + ", key expired" + v.since()
	case TrustUnpinned:
		if !v.Expired.IsZero() {
			return by + ", key not pinned, expired" + v.since()
		}
		return by + ", key not pinned"
	case TrustUntrusted:
		return by + ", untrusted key"
	case TrustRevoked:
		return by + ", revoked key"
	case TrustUnknown:
		return by + ", unknown key"
	case TrustUnsigned:
		return "unsigned"
	case TrustBad:
		return "bad signature"
	}
	return "not verified"
}

func (v Verdict) since() string {
	if v.Expired.IsZero() {
		return ""
	}
	return " on " + v.Expired.UTC().Format(time.DateOnly)
}
