package trust_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// TestSigner checks that gpg accepts signatures that were made with gpg keys.
func TestSigner(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	gpg := newGPG(t)
	for name, at := range map[string]gpgtest.At{
		"rsa": {Algorithm: "rsa2048"}, "ed25519": {Algorithm: "ed25519"},
		"protected": {Algorithm: "ed25519", Passphrase: "open sesame"}, "subkey": {Algorithm: "ed25519", Usage: "cert"},
	} {
		fingerprint, err := gpg.Key(t.Context(), name+" <"+name+"@example.com>", at)
		if err == nil && name == "subkey" {
			err = gpg.AddSubkey(t.Context(), fingerprint, gpgtest.At{Algorithm: "ed25519"})
		}
		if err != nil {
			t.Fatal(err)
		}
		signer, err := trust.ReadSigner(secret(t, gpg, fingerprint, at.Passphrase), []byte(at.Passphrase))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		signature, err := signer.Sign(world.sums)
		if err == nil {
			err = gpg.Verify(t.Context(), world.sums, signature)
		}
		if err != nil || !signer.Signed(world.sums, signature) || signer.Signed([]byte("other sums"), signature) || signer.Signed(world.sums, world.signatures["rsa"]) {
			t.Errorf("%s: %v", name, err)
		}
		if gpg.Verify(t.Context(), []byte("other sums"), signature) == nil {
			t.Errorf("%s: gpg accepts it as a signature of another document", name)
		}
		// The public key contains no secret and verifies the signature.
		keys := signer.Keys()
		r := signed(t, signature)
		r.Documents = append(r.Documents, document(provider.KindKeys, "keys", keys))
		v, err := trust.Policy{}.VerifyOffered(t.Context(), r)
		if v.Trust != provider.TrustSigned || v.Fingerprint != fingerprint || err != nil || strings.Contains(string(keys), "PRIVATE") {
			t.Errorf("%s: %s, %v", name, v, err)
		}
		if got := signer.Keyring().Fingerprints(); !slices.Equal(got, []string{fingerprint}) {
			t.Errorf("%s: the keyring has %v", name, got)
		}
	}
}

// TestSignerConcurrently checks that a signer and its keyring are safe for concurrent
// use. Only the race detector can detect a failure.
func TestSignerConcurrently(t *testing.T) {
	t.Parallel()
	gpg := newGPG(t)
	for name, at := range map[string]gpgtest.At{
		"rsa": {Algorithm: "rsa2048"}, "nistp256": {Algorithm: "nistp256"}, "dsa": {Algorithm: "dsa1024"}, "subkey": {Algorithm: "ed25519", Usage: "cert"},
	} {
		fingerprint, err := gpg.Key(t.Context(), name+" <"+name+"@example.com>", at)
		if err == nil && name == "subkey" {
			err = gpg.AddSubkey(t.Context(), fingerprint, gpgtest.At{Algorithm: "ed25519"})
		}
		if err != nil {
			t.Fatal(err)
		}
		signer, err := trust.ReadSigner(secret(t, gpg, fingerprint, ""), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ring := signer.Keyring()
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				signature, err := signer.Sign(world.sums)
				if err != nil || !signer.Signed(world.sums, signature) {
					t.Errorf("%s: Sign returned %d bytes, %v", name, len(signature), err)
				}
				if keys, err := ring.KeysOf(world.sums, signature); !bytes.Equal(keys, signer.Keys()) || err != nil {
					t.Errorf("%s: KeysOf returned %d bytes, %v", name, len(keys), err)
				}
				v, err := trust.Policy{Keyring: ring}.Verify(t.Context(), signed(t, signature))
				if v.Trust != provider.TrustSigned || err != nil {
					t.Errorf("%s: got %s, %v, want signed", name, v, err)
				}
			})
		}
		calls.Wait()
	}
}

// TestReadSignerRefuses checks keys that must not sign, and files that are not keys.
func TestReadSignerRefuses(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	gpg := newGPG(t)
	newKey := func(name string, at gpgtest.At) string {
		fingerprint, err := gpg.Key(t.Context(), name+" <"+name+"@example.com>", at)
		if err != nil {
			t.Fatal(err)
		}
		return fingerprint
	}
	revoked := newKey("revoked", gpgtest.At{Algorithm: "ed25519"})
	if err := gpg.Revoke(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	encrypts := newKey("encrypts", gpgtest.At{Algorithm: "ed25519", Usage: "cert"})
	if err := gpg.AddSubkey(t.Context(), encrypts, gpgtest.At{Algorithm: "cv25519", Usage: "encr"}); err != nil {
		t.Fatal(err)
	}
	oldSubkey := newKey("old", gpgtest.At{Algorithm: "ed25519", Usage: "cert", Time: then})
	if err := gpg.AddSubkey(t.Context(), oldSubkey, gpgtest.At{Algorithm: "ed25519", Time: then, Lifetime: "1y"}); err != nil {
		t.Fatal(err)
	}
	good := newKey("good", gpgtest.At{Algorithm: "ed25519"})
	protected := newKey("protected", gpgtest.At{Algorithm: "ed25519", Passphrase: "open sesame"})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "public"), world.public["rsa"])
	write(t, filepath.Join(dir, "text"), []byte("no key"))
	for name, test := range map[string]struct{ path, passphrase, want string }{
		"expired":          {secret(t, gpg, newKey("expired", gpgtest.At{Algorithm: "ed25519", Time: then, Lifetime: "1y"}), ""), "", "the key has expired"},
		"revoked":          {secret(t, gpg, revoked, ""), "", "the key is revoked"},
		"encryption only":  {secret(t, gpg, encrypts, ""), "", "no part of the key can sign"},
		"an old subkey":    {secret(t, gpg, oldSubkey, ""), "", "no part of the key can sign"},
		"wrong passphrase": {secret(t, gpg, protected, "open sesame"), "open", "wrong passphrase"},
		"no passphrase":    {secret(t, gpg, protected, "open sesame"), "", "the key requires a passphrase"},
		"public":           {filepath.Join(dir, "public"), "", "the secret part of the signing key is missing"},
		"text":             {filepath.Join(dir, "text"), "", "reading a key"},
		"two keys":         {secret(t, gpg, good, "", protected), "", "expected one key, found 2"},
	} {
		_, err := trust.ReadSigner(test.path, []byte(test.passphrase))
		if provider.KindOf(err) != provider.Malformed || !strings.HasPrefix(err.Error(), test.path) || !strings.Contains(err.Error(), test.want) || errors.Is(err, trust.ErrNoPassphrase) != (name == "no passphrase") || strings.Contains(err.Error(), "checksum") {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func newGPG(t *testing.T) *gpgtest.GPG {
	t.Helper()
	gpg, err := gpgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gpg.Close() })
	return gpg
}

// secret writes secret keys to a file.
func secret(t *testing.T, gpg *gpgtest.GPG, fingerprint, passphrase string, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret.asc")
	var all []byte
	for _, key := range append([]string{fingerprint}, more...) {
		if len(more) > 0 && key == more[0] {
			passphrase = "open sesame"
		}
		text, err := gpg.ExportSecret(t.Context(), passphrase, key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	write(t, path, all)
	return path
}
