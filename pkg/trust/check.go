package trust

import (
	"bytes"
	"errors"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// validity is what one key says of one signature.
type validity int

// They are in the order in which one of them is taken before another when several
// copies of a key, or keys of the same ID, are at hand. Who has revoked a key has
// done so whatever an older copy says; who has prolonged it likewise.
const (
	notTheirs validity = iota // the signature is of another key
	bad
	expired
	good
	revoked
)

// checked is what is known of one signature.
type checked struct {
	validity validity
	// key made the signature; nil when it is not known, or the signature is bad.
	key *openpgp.Entity
	// issuer is what the signature says of its key.
	issuer string
	// since is when the key or the signature expired, if it did.
	since time.Time
	// problem says why the signature is bad.
	problem string
}

// check holds a signature against a document and keys, as OpenTofu does: whether a
// key may sign, has expired or was revoked is decided by the same library, today.
func check(document []byte, s signaturePacket, keys openpgp.EntityList) checked {
	best := checked{issuer: s.issuer()}
	for _, key := range keys {
		if id := s.parsed.IssuerKeyId; id != nil && len(openpgp.EntityList{key}.KeysById(*id)) == 0 {
			continue
		}
		c := checkWith(document, s, key)
		if c.validity > best.validity {
			best = c
		}
	}
	if best.validity != notTheirs {
		return best
	}
	// Without the key it can still be told whether the signature is of this
	// document: it has two bytes of its hash. That finds what is mixed up, and
	// proves nothing.
	if err := checkHashTag(document, s); err != nil {
		return checked{validity: bad, issuer: best.issuer, problem: "it was made for other bytes"}
	}
	return best
}

func checkWith(document []byte, s signaturePacket, key *openpgp.Entity) checked {
	c := checked{validity: good, key: key, issuer: s.issuer()}
	_, err := openpgp.CheckDetachedSignature(openpgp.EntityList{key}, bytes.NewReader(document), bytes.NewReader(s.raw), nil)
	switch {
	case err == nil:
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		c.validity, c.key = notTheirs, nil
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		c.validity = revoked
	case errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
		c.validity, c.since = expired, expiry(s, key)
	default:
		c.validity, c.key, c.problem = bad, nil, err.Error()
	}
	return c
}

// expiry is the first moment after which a signature did not count any more.
func expiry(s signaturePacket, key *openpgp.Entity) time.Time {
	var first time.Time
	ends := func(from time.Time, seconds *uint32) {
		if seconds == nil || *seconds == 0 {
			return
		}
		end := from.Add(time.Duration(*seconds) * time.Second)
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	ends(s.parsed.CreationTime, s.parsed.SigLifetimeSecs)
	if self, _ := key.PrimarySelfSignature(); self != nil {
		ends(key.PrimaryKey.CreationTime, self.KeyLifetimeSecs)
	}
	for _, sub := range key.Subkeys {
		if s.parsed.IssuerKeyId != nil && sub.PublicKey.KeyId == *s.parsed.IssuerKeyId {
			ends(sub.PublicKey.CreationTime, sub.Sig.KeyLifetimeSecs)
		}
	}
	return first
}

// checkHashTag compares the part of the document's hash that a signature shows.
func checkHashTag(document []byte, s signaturePacket) error {
	hash, err := s.parsed.PrepareVerify()
	if err != nil {
		return err
	}
	switch s.parsed.SigType {
	case packet.SigTypeBinary:
		_, err = hash.Write(document)
	case packet.SigTypeText:
		_, err = openpgp.NewCanonicalTextHash(hash).Write(document)
	default:
		err = errors.New("it is no signature of a document")
	}
	if err != nil {
		return err
	}
	return packet.VerifyHashTag(hash, s.parsed)
}

// fingerprints are those by which a key may be pinned that made a signature: its
// primary key's and, where a subkey signed, that one's. Other subkeys don't count:
// a key can claim those of others, as long as they do not sign.
func (c checked) fingerprints(s signaturePacket) []string {
	all := []string{fingerprintOf(c.key.PrimaryKey.Fingerprint)}
	for _, sub := range c.key.Subkeys {
		if s.parsed.IssuerKeyId != nil && sub.PublicKey.KeyId == *s.parsed.IssuerKeyId && sub.Sig.FlagSign {
			all = append(all, fingerprintOf(sub.PublicKey.Fingerprint))
		}
	}
	return all
}
