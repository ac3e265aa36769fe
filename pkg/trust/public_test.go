package trust_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// ringOf reads a keyring from a file with the given keys.
func ringOf(t *testing.T, keys ...[]byte) trust.Keyring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	write(t, path, slices.Concat(keys...))
	ring, err := trust.ReadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// TestKeysOf checks that only the keys that made a signature are returned.
func TestKeysOf(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, world.public["rsa"], world.public["subkey"], world.public["expired"], world.public["revoked"], world.public["ed25519"])
	bad := bytes.Clone(world.signatures["rsa"])
	bad[len(bad)-1] ^= 1
	for name, test := range map[string]struct {
		signatures [][]byte
		want       []string
	}{
		"one key":                      {[][]byte{world.signatures["rsa"]}, []string{"rsa"}},
		"armored":                      {[][]byte{world.armored["rsa"]}, []string{"rsa"}},
		"a subkey":                     {[][]byte{world.signatures["subkey"]}, []string{"subkey"}},
		"an expired one":               {[][]byte{world.signatures["expired"]}, []string{"expired"}},
		"a revoked one":                {[][]byte{world.signatures["revoked"]}, []string{"revoked"}},
		"two in one file":              {[][]byte{world.signatures["both"]}, []string{"rsa", "ed25519"}},
		"two in two files":             {[][]byte{world.signatures["ed25519"], world.signatures["rsa"]}, []string{"rsa", "ed25519"}},
		"twice by one":                 {[][]byte{world.signatures["rsa"], world.armored["rsa"]}, []string{"rsa"}},
		"one of two available":         {[][]byte{world.signatures["nistp256"], world.signatures["rsa"]}, []string{"rsa"}},
		"missing":                      {[][]byte{world.signatures["nistp256"]}, nil},
		"signature of other checksums": {[][]byte{world.signatures["other document"]}, nil},
		"only its ID matches":          {[][]byte{bad}, nil},
		"no signature":                 {[][]byte{[]byte("none"), nil}, nil},
		"none":                         {nil, nil},
		"too many signatures":          {slices.Repeat([][]byte{world.signatures["rsa"]}, 17), []string{"rsa"}},
		"the first of too many":        {append(slices.Repeat([][]byte{world.signatures["rsa"]}, 16), world.signatures["ed25519"]), []string{"rsa"}},
		"no signature before one":      {[][]byte{[]byte("none"), world.signatures["rsa"]}, []string{"rsa"}},
	} {
		keys, err := ring.KeysOf(world.sums, test.signatures...)
		if err != nil || (keys == nil) != (test.want == nil) {
			t.Errorf("%s: %q, %v", name, keys, err)
			continue
		}
		if keys == nil {
			continue
		}
		var want []string
		for _, key := range test.want {
			want = append(want, world.fingerprints[key])
		}
		slices.Sort(want)
		if got := ringOf(t, keys).Fingerprints(); !slices.Equal(got, want) {
			t.Errorf("%s: the keys are %v, want %v", name, got, want)
		}
	}
	if keys, err := (trust.Keyring{}).KeysOf(world.sums, world.signatures["rsa"]); keys != nil || err != nil {
		t.Errorf("no keyring: %q, %v", keys, err)
	}
}

// TestKeysOfConcurrently checks that a keyring is safe for concurrent use. Only the
// race detector can detect a failure.
func TestKeysOfConcurrently(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, world.public["subkey"], world.public["revoked"])
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if keys, err := ring.KeysOf(world.sums, world.signatures["subkey"], world.signatures["revoked"]); keys == nil || err != nil {
				t.Errorf("KeysOf returned %d bytes, %v", len(keys), err)
			}
		})
	}
	calls.Wait()
}

// TestKeysOfAreComplete checks that the returned keys contain revocations and extended
// expirations, as in the author's own export.
func TestKeysOfAreComplete(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]provider.Trust{
		"rsa": provider.TrustSigned, "dsa": provider.TrustSigned, "subkey": provider.TrustSigned, "prolonged": provider.TrustSigned,
		"expired": provider.TrustExpired, "old-subkey": provider.TrustExpired, "revoked": provider.TrustRevoked,
	} {
		keys, err := ringOf(t, world.binary[name]).KeysOf(world.sums, world.signatures[name])
		if err != nil {
			t.Fatal(err)
		}
		r := signed(t, world.signatures[name])
		r.Documents = append(r.Documents, document(provider.KindKeys, "keys", keys))
		if v, _ := (trust.Policy{}).VerifyOffered(t.Context(), r); v.Trust != want || v.Fingerprint != world.fingerprints[name] {
			t.Errorf("%s: it is %s, want %s", name, v, want)
		}
	}
}

// TestKeysOfHaveNoSecrets checks that only the public parts of secret keys are returned.
func TestKeysOfHaveNoSecrets(t *testing.T) {
	t.Parallel()
	gpg := newGPG(t)
	fingerprint, err := gpg.Key(t.Context(), "author <author@example.com>", gpgtest.At{Algorithm: "ed25519"})
	if err != nil {
		t.Fatal(err)
	}
	if err := gpg.AddSubkey(t.Context(), fingerprint, gpgtest.At{Algorithm: "ed25519"}); err != nil {
		t.Fatal(err)
	}
	path := secret(t, gpg, fingerprint, "")
	signer, err := trust.ReadSigner(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(world.sums)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := trust.ReadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ring.KeysOf(world.sums, signature)
	if err != nil || !bytes.Equal(keys, signer.Keys()) || strings.Contains(string(keys), "PRIVATE") {
		t.Errorf("the keys are %q, %v", keys, err)
	}
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(keys))
	if err != nil || len(entities) != 1 || entities[0].PrivateKey != nil || len(entities[0].Subkeys) != 1 || entities[0].Subkeys[0].PrivateKey != nil {
		t.Errorf("the keys contain %v, %v", entities, err)
	}
}

// TestKeysOfIsDeterministic checks that the bytes of a key with many user IDs are
// stable. Otherwise, each run would write an artifact with a different digest.
func TestKeysOfIsDeterministic(t *testing.T) {
	t.Parallel()
	key, err := openpgp.NewEntity("a", "", "a@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		if err := key.AddUserId(name, "", name+"@example.com", nil); err != nil {
			t.Fatal(err)
		}
	}
	var public, signature bytes.Buffer
	if err := key.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	if err := openpgp.DetachSign(&signature, key, bytes.NewReader(world.sums), nil); err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 20 {
		keys, err := ringOf(t, public.Bytes()).KeysOf(world.sums, signature.Bytes())
		if err != nil || keys == nil {
			t.Fatalf("%q, %v", keys, err)
		}
		if first == nil {
			first = keys
		}
		if !bytes.Equal(keys, first) {
			t.Fatal("the results differ")
		}
	}
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(first))
	if err != nil || len(entities) != 1 || len(entities[0].Identities) != 7 {
		t.Errorf("the keys contain %v, %v", entities, err)
	}
}
