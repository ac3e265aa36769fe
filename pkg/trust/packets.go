package trust

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // old keys are of this kind, and their size is looked at
	"crypto/rsa"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

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
