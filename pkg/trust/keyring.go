package trust

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxKeys is the maximum size of a key file in bytes. A key is a few kilobytes in
	// size, or a few hundred kilobytes if it has many certifications.
	maxKeys = 4 << 20
	// maxKeyFiles is the maximum number of files in a key directory.
	maxKeyFiles = 1000
)

// Keyring is a set of trusted public keys. The zero value differs from an empty set,
// because it does not restrict which keys are trusted. A Keyring is immutable and safe
// for concurrent use.
type Keyring struct {
	keys   openpgp.EntityList
	unread []error
}

// Unread returns errors about keys and files that [ReadKeyring] could not read. The
// keyring contains the other keys.
func (k Keyring) Unread() []error { return slices.Clone(k.unread) }

// IsZero reports whether the keyring is the zero value.
func (k Keyring) IsZero() bool { return len(k.keys) == 0 }

// Armored returns the armored keys.
func (k Keyring) Armored() (text []byte, err error) {
	for _, key := range k.keys {
		one, err := armored(key)
		if err != nil {
			return nil, err
		}
		text = append(text, one...)
	}
	return text, nil
}

// ErrNoPassphrase is returned if a secret key requires a passphrase and none was given.
var ErrNoPassphrase = provider.Errorf(provider.Malformed, "the key requires a passphrase")

// ReadKeyring reads armored or binary public keys from a file, or from all files in a
// directory except hidden files. It skips unreadable keys, and files in the directory that
// contain no keys, such as a README. See [Keyring.Unread]. If no key is readable, the
// error is of kind [provider.Malformed]. ReadKeyring also returns file system errors.
func ReadKeyring(path string) (Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Keyring{}, err
	}
	if !info.IsDir() {
		return readKeyFile(path, bounded.ReadFileOrPipe) // path can be <(gpg --export)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return Keyring{}, err
	}
	var all Keyring
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || strings.HasPrefix(e.Name(), ".") })
	if len(entries) > maxKeyFiles {
		return Keyring{}, provider.Errorf(provider.Malformed, "%s: more than %d files", path, maxKeyFiles)
	}
	for _, entry := range entries {
		ring, err := readKeyFile(filepath.Join(path, entry.Name()), bounded.ReadFile)
		if err != nil && provider.KindOf(err) != provider.Malformed {
			return Keyring{}, err
		}
		if err != nil {
			ring.unread = []error{err}
		}
		all.keys, all.unread = append(all.keys, ring.keys...), append(all.unread, ring.unread...)
	}
	if all.IsZero() && len(all.unread) > 0 {
		return Keyring{}, all.unread[0]
	}
	if all.IsZero() {
		return Keyring{}, provider.Errorf(provider.Malformed, "%s: the directory contains no key files", path)
	}
	return all, nil
}

func readKeyFile(path string, read func(path string, limit int64) ([]byte, error)) (Keyring, error) {
	data, err := read(path, maxKeys)
	if err != nil {
		return Keyring{}, err
	}
	keys, err := parseKeys(data)
	switch unread := countKeys(data) - len(keys); {
	case isKeybox(data):
		err = errors.New("unsupported keybox file; export the keys with gpg --export")
	case len(keys) > 0 && (err != nil || unread > 0):
		reason := cmp.Or(err, errors.New("damaged, or of an unsupported kind"))
		return Keyring{keys, []error{provider.Errorf(provider.Malformed, "%s: skipping unreadable keys: %w", path, reason)}}, nil
	case err != nil:
		err = fmt.Errorf("reading a key: %w", err)
	case len(keys) == 0:
		err = errors.New("no OpenPGP keys found")
	default:
		return Keyring{keys: keys}, nil
	}
	return Keyring{}, provider.Errorf(provider.Malformed, "%s: %w", path, err)
}

// isKeybox reports whether data is a keybox, gpg's own file format for keys.
func isKeybox(data []byte) bool {
	return len(data) > 12 && string(data[8:12]) == "KBXf"
}

const armorStart = "-----BEGIN PGP "

// parseKeys parses binary or armored keys. Armored data can contain several blocks.
// parseKeys skips unreadable keys, and returns the error of the last unreadable key.
func parseKeys(data []byte) (keys openpgp.EntityList, err error) {
	if !bytes.Contains(data, []byte(armorStart)) {
		return readKeys(data)
	}
	blocks := strings.Split(string(data), armorStart)
	for _, block := range blocks[1:] {
		content, problem := dearmor([]byte(armorStart + block))
		var found openpgp.EntityList
		if problem == nil {
			found, problem = readKeys(content)
		}
		if problem != nil {
			err = problem
		}
		keys = append(keys, found...)
	}
	return keys, err
}

// countKeys returns the number of primary keys in binary or armored data, including keys
// that can't be read.
func countKeys(data []byte) (n int) {
	blocks := [][]byte{data}
	if bytes.Contains(data, []byte(armorStart)) {
		blocks = nil
		for _, block := range strings.Split(string(data), armorStart)[1:] {
			if content, err := dearmor([]byte(armorStart + block)); err == nil {
				blocks = append(blocks, content)
			}
		}
	}
	for _, block := range blocks {
		reader := packet.NewOpaqueReader(bytes.NewReader(block))
		for p, err := reader.Next(); err == nil; p, err = reader.Next() {
			if p.Tag == tagPublicKey || p.Tag == tagSecretKey {
				n++
			}
		}
	}
	return n
}

// Tags of packets with primary keys. See
// https://www.rfc-editor.org/rfc/rfc9580.html#section-5.
const (
	tagSecretKey = 5
	tagPublicKey = 6
)

// readKeys reads binary keys. It checks their size first, because verifying the signatures
// in a key of 65,000 bits takes minutes.
func readKeys(data []byte) (openpgp.EntityList, error) {
	if err := checkNumbers(data); err != nil {
		return nil, err
	}
	return openpgp.ReadKeyRing(bytes.NewReader(data))
}

func dearmor(text []byte) ([]byte, error) {
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the armor: %w", err)
	}
	var content bytes.Buffer
	if _, err := content.ReadFrom(block.Body); err != nil {
		return nil, fmt.Errorf("reading the armor: %w", err)
	}
	return content.Bytes(), nil
}

func fingerprintOf(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }

var errTooLarge = errors.New("the key exceeds the size limit")

// Check returns nil if a key in the keyring made a valid signature of the document.
// Otherwise, the error has the kind [provider.Unverified].
func (k Keyring) Check(document, signature []byte) error {
	signer, problem := signerOf(document, signature, k.keys, func(string) bool { return true })
	if signer == "" {
		return provider.Errorf(provider.Unverified, "%s", problem)
	}
	return nil
}

// signerOf returns the fingerprint of the primary key that made a valid signature of a
// document, if accepts returns true for this fingerprint or the subkey's. Otherwise,
// signerOf describes the problem.
func signerOf(document, signature []byte, keys openpgp.EntityList, accepts func(fingerprint string) bool) (signer, problem string) {
	if len(signature) == 0 {
		return "", "no signature"
	}
	packets, err := splitSignatures(signature)
	if err != nil {
		return "", "invalid signature: " + err.Error()
	}
	problem = "the keyring doesn't contain the key that made the signature"
	for _, s := range packets {
		switch c := check(document, s, keys); c.validity {
		case good:
			if slices.ContainsFunc(c.fingerprints(s), accepts) {
				return fingerprintOf(c.key.PrimaryKey.Fingerprint), ""
			}
		case expired:
			problem = "the signature or its key has expired"
		case revoked:
			problem = "the key that made the signature has been revoked"
		case bad:
			problem = "bad signature: " + c.problem
		case notTheirs:
		}
	}
	return "", problem
}
