package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
)

// signers contains keys that the real gpg created for all tests of the process. The
// first test that needs the keys creates them.
var signers struct {
	once sync.Once
	err  error
	gpg  *gpgtest.GPG
	mu   sync.Mutex // only one goroutine can call gpg at a time
	// fingerprints maps names to fingerprints: good, other, expired, revoked.
	fingerprints map[string]string
}

// signedThen is the time at which the expired key creates signatures.
var signedThen = time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)

func makeSigners(ctx context.Context) error {
	signers.once.Do(func() {
		signers.fingerprints = map[string]string{}
		if signers.gpg, signers.err = gpgtest.New(); signers.err != nil {
			return
		}
		for name, at := range map[string]gpgtest.At{
			"good": {Algorithm: "rsa2048"}, "other": {Algorithm: "ed25519"}, "revoked": {Algorithm: "ed25519"},
			"expired": {Algorithm: "ed25519", Time: signedThen.AddDate(0, -1, 0), Lifetime: "1y"},
		} {
			fingerprint, err := signers.gpg.Key(ctx, name+" <"+name+"@example.com>", at)
			signers.fingerprints[name] = fingerprint
			signers.err = errors.Join(signers.err, err)
		}
	})
	return signers.err
}

// publicKey returns an armored public key.
func publicKey(ctx context.Context, name string) ([]byte, error) {
	if err := makeSigners(ctx); err != nil {
		return nil, err
	}
	if name == "revoked" {
		return revokedKey(ctx)
	}
	signers.mu.Lock()
	defer signers.mu.Unlock()
	return signers.gpg.Export(ctx, []string{"--armor"}, signers.fingerprints[name])
}

// signedBy returns a detached signature by a key.
func signedBy(ctx context.Context, name string, document []byte, options ...string) ([]byte, error) {
	if err := makeSigners(ctx); err != nil {
		return nil, err
	}
	signers.mu.Lock()
	defer signers.mu.Unlock()
	var when time.Time
	if name == "expired" {
		when = signedThen
	}
	return signers.gpg.Sign(ctx, document, when, options, signers.fingerprints[name])
}

// revokedKey returns the public key named revoked together with its revocation. gpg
// refuses to sign with a revoked key, so only a copy is revoked.
func revokedKey(ctx context.Context) ([]byte, error) {
	signers.mu.Lock()
	defer signers.mu.Unlock()
	other, err := gpgtest.New()
	if err != nil {
		return nil, err
	}
	defer func() { _ = other.Close() }()
	return signers.gpg.Revoked(ctx, other, signers.fingerprints["revoked"])
}

// keys writes the public keys to keys/NAME.asc and sets the variables GOOD, OTHER, and EXPIRED to
// their fingerprints.
func cmdKeys(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.MkdirAll(ts.MkAbs("keys"), 0o755))
	for _, name := range []string{"good", "other", "expired"} {
		key, err := publicKey(context.Background(), name)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("keys/"+name+".asc"), key, 0o600))
		ts.Setenv(strings.ToUpper(name), signers.fingerprints[name])
	}
}

// secret-key NAME FILE [PASSPHRASE] creates a key with gpg, writes its secret key to a file, and sets
// the variable NAME in upper case to its fingerprint.
func cmdSecretKey(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: secret-key NAME FILE [PASSPHRASE]")
	}
	ctx := context.Background()
	gpg, err := gpgtest.New()
	ts.Check(err)
	defer func() { _ = gpg.Close() }()
	at := gpgtest.At{Algorithm: "ed25519"}
	if len(args) > 2 {
		at.Passphrase = args[2]
	}
	if args[0] == "expired" {
		at.Time, at.Lifetime = signedThen, "1y"
	}
	fingerprint, err := gpg.Key(ctx, args[0]+" <"+args[0]+"@example.com>", at)
	ts.Check(err)
	key, err := gpg.ExportSecret(ctx, at.Passphrase, fingerprint)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), key, 0o600))
	ts.Setenv(strings.ToUpper(args[0]), fingerprint)
}

// sign NAME FILE signs a file with a gpg key and writes the signature to FILE.sig.
func cmdSign(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sign NAME FILE")
	}
	signature, err := signedBy(context.Background(), args[0], []byte(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1])+".sig", signature, 0o600))
}

// throwaway signs with the key in testdata/throwaway.asc and returns the signature and the key.
// Signatures are deterministic, so that scripts can contain digests.
func throwaway(document []byte) (signature []byte, public string, err error) {
	text, err := os.ReadFile(filepath.Join("testdata", "throwaway.asc"))
	if err != nil {
		return nil, "", err
	}
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil {
		return nil, "", err
	}
	same := false
	config := &packet.Config{NonDeterministicSignaturesViaNotation: &same, Time: func() time.Time { return keys[0].PrimaryKey.CreationTime }}
	var detached, armored bytes.Buffer
	if err := openpgp.DetachSign(&detached, keys[0], bytes.NewReader(document), config); err != nil {
		return nil, "", err
	}
	w, err := armor.Encode(&armored, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(keys[0].Serialize(w), w.Close())
	}
	return detached.Bytes(), armored.String(), err
}
