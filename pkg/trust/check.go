package trust

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // needed to check the size of old DSA keys
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// validity is the result of verifying a signature with one key.
type validity int

// If several copies of a key or several keys with the same ID are available, the
// highest value applies. A revocation or an extended expiration in one copy overrides
// the other copies.
const (
	notTheirs validity = iota // made by a different key
	bad
	expired
	good
	revoked
)

// signatureCheck is the result of verifying one signature.
type signatureCheck struct {
	validity validity
	// key made the signature. It is nil if the key is unknown or the signature is bad.
	key *openpgp.Entity
	// issuer is the claimed issuer of the signature.
	issuer string
	// since is the time when the key or the signature expired, or zero if neither has
	// expired.
	since time.Time
	// problem is the reason the signature is bad.
	problem string
}

// check verifies the signature of a document as OpenTofu does. The same library decides
// whether a key can sign, has expired, or has been revoked.
func check(document []byte, s signaturePacket, keys openpgp.EntityList) signatureCheck {
	best := signatureCheck{issuer: s.issuer()}
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
	// A signature contains two bytes of the document's hash. Even if the key is
	// unknown, these bytes can reveal that the signature was made for a different
	// document.
	if err := checkHashTag(document, s); err != nil {
		return signatureCheck{validity: bad, issuer: best.issuer, problem: "the signature does not match the document"}
	}
	return best
}

func checkWith(document []byte, s signaturePacket, key *openpgp.Entity) signatureCheck {
	c := signatureCheck{validity: good, key: key, issuer: s.issuer()}
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

// expiry returns the earliest time at which a signature or its key expires.
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

// checkHashTag returns an error if the hash bytes in a signature don't match the
// document's hash.
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
		err = errors.New("not a signature of a document")
	}
	if err != nil {
		return err
	}
	return packet.VerifyHashTag(hash, s.parsed)
}

// fingerprints returns the fingerprints by which the key of a signature can be pinned:
// the fingerprint of the primary key and, if a subkey signed, the fingerprint of the
// subkey. Other subkeys are ignored, because a key can claim non-signing subkeys of a
// different key.
func (c signatureCheck) fingerprints(s signaturePacket) []string {
	all := []string{fingerprintOf(c.key.PrimaryKey.Fingerprint)}
	for _, sub := range c.key.Subkeys {
		if s.parsed.IssuerKeyId != nil && sub.PublicKey.KeyId == *s.parsed.IssuerKeyId && sub.Sig.FlagSign {
			all = append(all, fingerprintOf(sub.PublicKey.Fingerprint))
		}
	}
	return all
}

const (
	// maxSignature is the maximum size of a signature document, in bytes.
	maxSignature = 256 << 10
	// maxSignatures is the maximum number of signatures in a document.
	maxSignatures = 16
	// maxPackets is the maximum number of packets in a set of keys. It is enough for a
	// key with thousands of certifications.
	maxPackets = 20_000
	// These values limit the size of keys, in bits.
	maxRSA, maxDSA, maxDSAOrder = 16_384, 4096, 512
)

// signaturePacket is one signature of a signature document.
type signaturePacket struct {
	raw    []byte
	parsed *packet.Signature
}

// splitSignatures parses a detached signature, binary or armored. The input can contain
// several signatures, because gpg creates one for each --local-user.
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
			return nil, fmt.Errorf("not an OpenPGP signature: %w", err)
		}
		p, err := opaque.Parse()
		if err != nil {
			return nil, fmt.Errorf("reading the OpenPGP signature: %w", err)
		}
		signature, ok := p.(*packet.Signature)
		if !ok {
			return nil, errors.New("the document contains data other than OpenPGP signatures")
		}
		var raw bytes.Buffer
		if err := opaque.Serialize(&raw); err != nil {
			return nil, err
		}
		if all = append(all, signaturePacket{raw.Bytes(), signature}); len(all) > maxSignatures {
			return nil, fmt.Errorf("more than %d signatures", maxSignatures)
		}
	}
}

// issuer returns the fingerprint or key ID of a signature's claimed issuer. The result
// is not verified.
func (s signaturePacket) issuer() string {
	switch {
	case len(s.parsed.IssuerFingerprint) > 0:
		return fingerprintOf(s.parsed.IssuerFingerprint)
	case s.parsed.IssuerKeyId != nil:
		return fmt.Sprintf("%016X", *s.parsed.IssuerKeyId)
	}
	return ""
}

// checkNumbers returns an error for keys that are larger than any real key.
func checkNumbers(data []byte) error {
	reader := packet.NewOpaqueReader(bytes.NewReader(data))
	for range maxPackets {
		opaque, err := reader.Next()
		if err != nil {
			return nil //nolint:nilerr // the reader of keys reports invalid packets
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
