package trust

import (
	"bytes"
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

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxKeys bounds a file of keys, in bytes. One is
	// a few kilobytes; those with many signatures of others are some hundred.
	maxKeys = 4 << 20
	// maxKeyFiles bounds the files of a directory of keys.
	maxKeyFiles = 1000
)

// Keyring is a set of public keys whose word counts. The zero value is none, which
// is not the same as an empty set: then others say which keys count. It is not
// changed after it was made, and safe for concurrent use.
type Keyring struct{ keys openpgp.EntityList }

// IsZero tells whether there are no keys.
func (k Keyring) IsZero() bool { return len(k.keys) == 0 }

// Fingerprints lists the primary keys' fingerprints in upper-case hexadecimal
// digits, sorted.
func (k Keyring) Fingerprints() []string {
	var all []string
	for _, key := range k.keys {
		all = append(all, fingerprintOf(key.PrimaryKey.Fingerprint))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// KeyError says why a file does not hold OpenPGP keys, or none that can be used.
type KeyError struct {
	Path    string
	Problem string
	// Err is the cause; nil when Problem says all.
	Err error
	// NoPassphrase tells that a secret key has a passphrase, and that none was given.
	NoPassphrase bool
}

func (e *KeyError) Error() string {
	if e.Err == nil {
		return e.Path + ": " + e.Problem
	}
	return fmt.Sprintf("%s: %s: %v", e.Path, e.Problem, e.Err)
}

// Kind is [provider.Malformed].
func (e *KeyError) Kind() provider.ErrorKind { return provider.Malformed }

func (e *KeyError) Unwrap() error { return e.Err }

// ReadKeyring reads public keys, armored or binary, from a file, or from all files
// of a directory but hidden ones. A file without a key that can be read is a
// *[KeyError], and so is a directory without any; errors are also those of the file
// system.
func ReadKeyring(path string) (Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Keyring{}, err
	}
	if !info.IsDir() {
		return readKeyFile(path, bounded.ReadFileOrPipe) // which may be <(gpg --export)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return Keyring{}, err
	}
	var all Keyring
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || strings.HasPrefix(e.Name(), ".") })
	if len(entries) > maxKeyFiles {
		return Keyring{}, &KeyError{Path: path, Problem: fmt.Sprintf("has more than %d files", maxKeyFiles)}
	}
	for _, entry := range entries {
		ring, err := readKeyFile(filepath.Join(path, entry.Name()), bounded.ReadFile)
		if err != nil {
			return Keyring{}, err
		}
		all.keys = append(all.keys, ring.keys...)
	}
	if all.IsZero() {
		return Keyring{}, &KeyError{Path: path, Problem: "the directory holds no file of keys"}
	}
	return all, nil
}

func readKeyFile(path string, read func(path string, limit int64) ([]byte, error)) (Keyring, error) {
	data, err := read(path, maxKeys)
	if err != nil {
		return Keyring{}, err
	}
	if isKeybox(data) {
		return Keyring{}, &KeyError{Path: path, Problem: "is a keybox, which only gpg reads: write the keys out with gpg --export"}
	}
	keys, err := parseKeys(data)
	if err != nil {
		return Keyring{}, &KeyError{Path: path, Problem: "there is a key that cannot be read", Err: err}
	}
	if len(keys) == 0 {
		return Keyring{}, &KeyError{Path: path, Problem: "holds no OpenPGP key"}
	}
	return Keyring{keys}, nil
}

// isKeybox knows the files that gpg keeps keys in by itself.
func isKeybox(data []byte) bool {
	return len(data) > 12 && string(data[8:12]) == "KBXf"
}

const armorStart = "-----BEGIN PGP "

// parseKeys reads keys, binary or armored, of which many blocks may follow each
// other. Keys that cannot be read are left out; the error tells of the last one.
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

// readKeys reads binary keys, whose numbers are of a reasonable size: checking the
// signatures in a key of 65,000 bits takes minutes.
func readKeys(data []byte) (openpgp.EntityList, error) {
	if err := checkNumbers(data); err != nil {
		return nil, err
	}
	return openpgp.ReadKeyRing(bytes.NewReader(data))
}

// dearmor gives the bytes of an armored block.
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

var errTooLarge = errors.New("the key is larger than any real one")
