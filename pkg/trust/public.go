package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// KeysOf returns the keys in the keyring that signed a document such as SHA256SUMS. The
// result is armored, sorted by fingerprint, and contains no duplicates or secrets. It
// is nil if none of the keys signed the document. KeysOf verifies the signatures. It
// ignores malformed documents and surplus signatures, which [Policy.Verify] reports.
// KeysOf returns an error if the keys exceed the size that Verify accepts.
func (k Keyring) KeysOf(document []byte, signatures ...[]byte) ([]byte, error) {
	signers, seen := map[string]*openpgp.Entity{}, 0
	for _, signature := range signatures {
		packets, err := splitSignatures(signature)
		if seen += len(packets); err != nil || seen > maxSignatures {
			continue
		}
		for _, s := range packets {
			if key := check(document, s, k.keys).key; key != nil {
				signers[fingerprintOf(key.PrimaryKey.Fingerprint)] = key
			}
		}
	}
	var all []byte
	for _, fingerprint := range slices.Sorted(maps.Keys(signers)) {
		text, err := armored(signers[fingerprint])
		if err != nil {
			return nil, fmt.Errorf("writing the key %s: %w", fingerprint, err)
		}
		if all = append(all, text...); len(all) > maxReleaseKeys {
			return nil, fmt.Errorf("adding the key %s makes the keys exceed %d bytes in total; export this key with gpg --export --export-options export-minimal", fingerprint, maxReleaseKeys)
		}
	}
	return all, nil
}

// armored returns the public part of a key. Identical keys result in identical bytes.
// The library doesn't guarantee this for keys with several user IDs.
func armored(key *openpgp.Entity) ([]byte, error) {
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writePublic(w, key), w.Close()); err != nil {
		return nil, err
	}
	return append(text.Bytes(), '\n'), nil
}

// writePublic writes the packets of a key in the order that
// https://www.rfc-editor.org/rfc/rfc9580.html#name-transferable-public-keys specifies.
func writePublic(w io.Writer, key *openpgp.Entity) error {
	packets := []serializer{key.PrimaryKey}
	packets = add(packets, key.Revocations)
	packets = add(packets, key.Signatures)
	for _, name := range slices.Sorted(maps.Keys(key.Identities)) {
		packets = append(packets, key.Identities[name].UserId)
		packets = add(packets, key.Identities[name].Signatures)
	}
	for _, sub := range key.Subkeys {
		packets = append(packets, sub.PublicKey)
		packets = add(packets, sub.Revocations)
		packets = append(packets, sub.Sig)
	}
	for _, p := range packets {
		if signature, ok := p.(*packet.Signature); ok {
			copied := *signature // Serialize modifies the signature
			p = &copied
		}
		if err := p.Serialize(w); err != nil {
			return err
		}
	}
	return nil
}

type serializer interface{ Serialize(w io.Writer) error }

func add[P serializer](packets []serializer, more []P) []serializer {
	for _, p := range more {
		packets = append(packets, p)
	}
	return packets
}
