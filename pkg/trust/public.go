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
)

// KeysOf returns those keys of the keyring that made signatures of a document, such as
// SHA256SUMS: armored, each once, sorted by fingerprint, and without secrets; nil when
// it has none of them. A key is one of them only if the signature is verified by it.
// What is no signature, or one of too many, is left to [Policy] Judge. They are the keys that go along with
// a release, so more bytes of them than Judge reads are an error.
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
			return nil, fmt.Errorf("the key %s makes more than %d bytes of keys, which is more than is read with a release: export it with gpg --export-options export-minimal", fingerprint, maxReleaseKeys)
		}
	}
	return all, nil
}

// armored returns the public part of a key. Equal keys give equal bytes, which the
// library's own writer does not promise for a key with several names.
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

// writePublic writes the packets of a key in the order of
// https://www.rfc-editor.org/rfc/rfc9580.html#name-transferable-public-keys
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
