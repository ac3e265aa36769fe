package trust

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Signer signs documents with a secret key. It is safe for concurrent use.
type Signer struct {
	key *openpgp.Entity
	// public is the armored key without its secrets.
	public []byte
}

// ReadSigner reads an armored or binary secret key, as exported by gpg
// --export-secret-keys, and decrypts it with the passphrase. If the key is expired or
// revoked, can't sign, or can't be decrypted, the error is of kind
// [provider.Malformed]. If the key requires a passphrase and passphrase is empty,
// ReadSigner returns [ErrNoPassphrase]. It also returns file system errors.
func ReadSigner(path string, passphrase []byte) (Signer, error) {
	data, err := bounded.ReadFileOrPipe(path, maxKeys)
	if err != nil {
		return Signer{}, err
	}
	s, err := newSigner(data, passphrase)
	if err != nil {
		return Signer{}, provider.Errorf(provider.Malformed, "%s: %w", path, err)
	}
	return s, nil
}

func newSigner(data, passphrase []byte) (Signer, error) {
	keys, err := parseKeys(data)
	switch {
	case err != nil:
		return Signer{}, fmt.Errorf("reading a key: %w", err)
	case len(keys) != 1:
		return Signer{}, fmt.Errorf("expected one key, found %d", len(keys))
	}
	key := keys[0]
	if problem := unfit(key, time.Now()); problem != "" {
		return Signer{}, errors.New(problem)
	}
	if err := unlock(key, passphrase); err != nil {
		return Signer{}, err
	}
	s := Signer{key: key}
	if _, err := s.Sign(nil); err != nil {
		return Signer{}, fmt.Errorf("the key cannot sign: %w", err)
	}
	s.public, err = armored(key)
	return s, err
}

// unlock decrypts a key. For a wrong passphrase, it replaces the library's error, which
// mentions only an internal checksum.
func unlock(key *openpgp.Entity, passphrase []byte) error {
	err := key.DecryptPrivateKeys(passphrase)
	_, unsupported := errors.AsType[pgperrors.UnsupportedError](err)
	switch {
	case err == nil:
		return nil
	case unsupported:
		return fmt.Errorf("decrypting the key: %w", err)
	case len(passphrase) == 0:
		return ErrNoPassphrase
	}
	return errors.New("wrong passphrase")
}

// unfit returns the reason a key must not sign, or an empty string if the key can sign.
func unfit(key *openpgp.Entity, now time.Time) string {
	self, identity := key.PrimarySelfSignature()
	signing, found := key.SigningKey(now)
	switch {
	case key.Revoked(now) || identity != nil && identity.Revoked(now):
		return "the key is revoked"
	case key.PrimaryKey.KeyExpired(self, now) || self.SigExpired(now):
		return "the key has expired"
	case !found:
		return "no part of the key can sign: the key is for encryption or certification only, or its signing subkey is expired or revoked"
	case signing.PrivateKey == nil || signing.PrivateKey.Dummy():
		return "the secret part of the signing key is missing"
	}
	return ""
}

// Sign returns a detached binary signature of a document.
func (s Signer) Sign(document []byte) ([]byte, error) {
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, s.key, bytes.NewReader(document), nil); err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return signature.Bytes(), nil
}

// Signed reports whether signature is a single valid signature of the document by this
// key. If so, the signature can be replaced when the document changes.
func (s Signer) Signed(document, signature []byte) bool {
	packets, err := splitSignatures(signature)
	if err != nil || len(packets) != 1 {
		return false
	}
	return check(document, packets[0], openpgp.EntityList{s.key}).validity == good
}

// Keys returns the armored public key.
func (s Signer) Keys() []byte { return bytes.Clone(s.public) }

// Keyring returns a keyring that contains only the public key.
func (s Signer) Keyring() Keyring { return Keyring{keys: openpgp.EntityList{s.key}} }
