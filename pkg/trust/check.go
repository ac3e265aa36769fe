package trust

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // old keys are of this kind, and their size is looked at
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
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

const (
	// maxSignature bounds a signature document, in bytes.
	maxSignature = 256 << 10
	// maxSignatures bounds the signatures in one document.
	maxSignatures = 16
	// maxPackets bounds the packets of keys: a key that thousands have signed has
	// as many.
	maxPackets = 20_000
	// maxRSA and the others bound the numbers of keys, in bits.
	maxRSA, maxDSA, maxDSAOrder = 16_384, 4096, 512
)

// signaturePacket is one signature of a document of signatures.
type signaturePacket struct {
	raw    []byte
	parsed *packet.Signature
}

// splitSignatures takes a detached signature apart, binary or armored, which may
// be several: gpg makes one for each --local-user.
func splitSignatures(data []byte) ([]signaturePacket, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(armorStart)) {
		var err error
		if data, err = dearmor(data); err != nil {
			return nil, err
		}
	}
	var all []signaturePacket
	reader := packet.NewOpaqueReader(bytes.NewReader(data))
	for {
		opaque, err := reader.Next()
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is no OpenPGP signature: %w", err)
		}
		p, err := opaque.Parse()
		if err != nil {
			return nil, fmt.Errorf("it is no OpenPGP signature that can be read: %w", err)
		}
		signature, ok := p.(*packet.Signature)
		if !ok {
			return nil, errors.New("it holds something else than OpenPGP signatures")
		}
		var raw bytes.Buffer
		if err := opaque.Serialize(&raw); err != nil {
			return nil, err
		}
		if all = append(all, signaturePacket{raw.Bytes(), signature}); len(all) > maxSignatures {
			return nil, fmt.Errorf("it holds more than %d signatures", maxSignatures)
		}
	}
}

// issuer is what a signature says of its key: the fingerprint, or the key ID.
// Nothing has verified it.
func (s signaturePacket) issuer() string {
	switch {
	case len(s.parsed.IssuerFingerprint) > 0:
		return fingerprintOf(s.parsed.IssuerFingerprint)
	case s.parsed.IssuerKeyId != nil:
		return fmt.Sprintf("%016X", *s.parsed.IssuerKeyId)
	}
	return ""
}

// checkNumbers refuses keys whose numbers are larger than any real one's.
func checkNumbers(data []byte) error {
	reader := packet.NewOpaqueReader(bytes.NewReader(data))
	for range maxPackets {
		opaque, err := reader.Next()
		if err != nil {
			return nil //nolint:nilerr // the reader of keys says what is wrong with them
		}
		p, err := opaque.Parse()
		if err != nil {
			continue
		}
		var public any
		switch key := p.(type) {
		case *packet.PublicKey:
			public = key.PublicKey
		case *packet.PrivateKey:
			public = key.PublicKey.PublicKey
		}
		switch key := public.(type) {
		case *rsa.PublicKey:
			if key.N.BitLen() > maxRSA {
				return errTooLarge
			}
		case *dsa.PublicKey:
			if key.P.BitLen() > maxDSA || key.Q.BitLen() > maxDSAOrder || key.G.BitLen() > maxDSA || key.Y.BitLen() > maxDSA {
				return errTooLarge
			}
		}
	}
	return errTooLarge
}
