package provider

import "time"

// Trust is what the signature of a release proves.
type Trust string

// What signatures prove. Only the first two are proof of who made a release.
const (
	// TrustSigned: a key signed it whose word counts.
	TrustSigned Trust = "signed"
	// TrustExpired: as TrustSigned, but the key or the signature has expired.
	TrustExpired Trust = "expired"
	// TrustUnpinned: a key signed it that came with the release, so that the
	// release agrees with itself, and nobody says that the key is the author's.
	TrustUnpinned Trust = "unpinned"
	// TrustUntrusted: a key signed it that is not one of those which count.
	TrustUntrusted Trust = "untrusted"
	// TrustRevoked: a key signed it that its owner has revoked.
	TrustRevoked Trust = "revoked"
	// TrustUnknown: there is a signature, and no key to check it with.
	TrustUnknown Trust = "unknown-key"
	// TrustUnsigned: there is no signature.
	TrustUnsigned Trust = "unsigned"
	// TrustBad: the signature is not one of the checksums.
	TrustBad Trust = "bad"
)

// Verdict says what the signature of a release proves, and about whom. The zero
// value is none: nobody has judged.
type Verdict struct {
	Trust Trust
	// Fingerprint is that of the primary key that signed, in upper-case
	// hexadecimal digits. Where the key is not known it is what the signature
	// says of it, which may be a key ID of 16 digits, or nothing.
	Fingerprint string
	// Expired is when the key or the signature expired; zero when it has not, or
	// when the time is not known.
	Expired time.Time
	// Reason says in a few words why, where there is more to say; else empty.
	Reason string
	// Warning is a sentence for people when the release was let pass though
	// something is wrong with its signature; else empty.
	Warning string
}

// String says it in a few words: "signed by FINGERPRINT", "unsigned".
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
		return by + ", a key that is not trusted"
	case TrustRevoked:
		return by + ", a key that was revoked"
	case TrustUnknown:
		return by + ", key unknown"
	case TrustUnsigned:
		return "unsigned"
	case TrustBad:
		return "bad signature"
	}
	return "not judged"
}

func (v Verdict) since() string {
	if v.Expired.IsZero() {
		return ""
	}
	return " since " + v.Expired.UTC().Format(time.DateOnly)
}
