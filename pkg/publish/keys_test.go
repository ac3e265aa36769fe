package publish_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// ringOf returns a keyring with the public keys of the signers.
func ringOf(t *testing.T, signers ...trust.Signer) trust.Keyring {
	t.Helper()
	dir := t.TempDir()
	for i, signer := range signers {
		write(t, filepath.Join(dir, strings.Repeat("k", i+1)), signer.Keys())
	}
	ring, err := trust.ReadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// signedDist returns a directory that contains a signed SHA256SUMS but not the key,
// like the output of goreleaser.
func (w *world) signedDist(t *testing.T, signer trust.Signer, listing string, platforms ...provider.Platform) string {
	t.Helper()
	signature, err := signer.Sign([]byte(listing))
	if err != nil {
		t.Fatal(err)
	}
	return w.dist(t, map[string]string{"_SHA256SUMS": listing, "_SHA256SUMS.sig": string(signature)}, platforms...)
}

// verifiedBy returns options that trust only the keys of a keyring.
func verifiedBy(ring trust.Keyring) publish.Options {
	return publish.Options{Signing: publish.Signing{Keys: ring.KeysOf}, Verify: trust.Policy{Mode: trust.ModeRequire, Keyring: ring}.Verify}
}

// TestSigningKeyIsPublished checks that the only key published with the release is the
// key that made the signature.
func TestSigningKeyIsPublished(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	ring := ringOf(t, signers...)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dir := w.signedDist(t, signers[1], w.listing(all...), all...)
		dry := verifiedBy(ring)
		dry.DryRun = true
		result, err := w.runLocal(t, to, dir, dry)
		if err != nil || !slices.ContainsFunc(result.Documents, func(d provider.Document) bool { return d.Kind == provider.KindKeys && len(d.Bytes) > 0 }) {
			t.Errorf("a dry run reports documents %v, %v", result.Documents, err)
		}
		w.publishLocal(t, to, publish.Created, dir, verifiedBy(ring))
		w.wantSigned(t, to, signers[1], all...)
		state := to.state(t)
		w.publishLocal(t, to, publish.Unchanged, dir, verifiedBy(ring))
		w.publishLocal(t, to, publish.Unchanged, dir, publish.Options{})
		if to.state(t) != state {
			t.Error("unexpected writes")
		}
	})
}

// TestKeyAddedLater checks that a missing key is added to a published release, and that
// no zip is sent.
func TestKeyAddedLater(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	ring := ringOf(t, signers...)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dir := w.signedDist(t, signers[0], w.listing(all...), all...)
		w.publishLocal(t, to, publish.Created, dir, publish.Options{})
		if _, has := w.wantStored(t, to, all...).Document(provider.KindKeys); has {
			t.Fatal("keys already exist")
		}
		result := w.publishLocal(t, to, publish.Extended, dir, verifiedBy(ring))
		if want := []string{stem + "_SHA256SUMS.keys.asc"}; !slices.Equal(result.Added, want) {
			t.Errorf("got added documents %q, want %q", result.Added, want)
		}
		wantSent(t, result)
		w.wantSigned(t, to, signers[0], all...)
		w.publishLocal(t, to, publish.Unchanged, dir, verifiedBy(ring))
	})
}

// TestKeysOfStoredSignature checks that a release with a stored signature gets the key
// that made this signature, and not the key that made the new signature.
func TestKeysOfStoredSignature(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	for _, test := range []struct {
		name string
		ring trust.Keyring
		want string
	}{
		{"both keys are available", ringOf(t, signers...), string(signers[0].Keys())},
		{"the stored one's is not", ringOf(t, signers[1]), ""},
	} {
		w := newWorld(t, origintest.Options{})
		to := w.layout(t)
		w.publishLocal(t, to, publish.Created, w.signedDist(t, signers[0], w.listing(all...), all...), publish.Options{})
		other := w.signedDist(t, signers[1], w.listing(all...)+strings.Repeat("0", 64)+"  other.txt\n", all...)
		result := w.publishLocal(t, to, publish.Extended, other, publish.Options{Signing: publish.Signing{Keys: test.ring.KeysOf}})
		keys, _ := w.wantStored(t, to, all...).Document(provider.KindKeys)
		if string(keys.Bytes) != test.want || slices.Contains(result.Added, stem+"_SHA256SUMS.keys.asc") != (test.want != "") {
			t.Errorf("%s: the keys are %q, added is %q", test.name, keys.Bytes, result.Added)
		}
		v, err := trust.Policy{Keyring: signers[0].Keyring()}.Verify(t.Context(), w.wantStored(t, to, all...))
		if v.Trust != provider.TrustSigned || err != nil {
			t.Errorf("%s: got verdict %s, %v", test.name, v, err)
		}
	}
}

// TestOnlySigningKeysArePublished checks that only the keys that signed the release are published.
// It also checks that an untrusted release is rejected before anything is sent.
func TestOnlySigningKeysArePublished(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	other := ringOf(t, signers[1])
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	dir := w.signedDist(t, signers[0], w.listing(all...), all...)
	if _, err := w.runLocal(t, to, dir, verifiedBy(other)); err == nil || to.digest(t) != "" {
		t.Errorf("got %v", err)
	}
	w.publishLocal(t, to, publish.Created, dir, publish.Options{Signing: publish.Signing{Keys: other.KeysOf}})
	if keys, has := w.wantStored(t, to, all...).Document(provider.KindKeys); has {
		t.Errorf("got keys %q", keys.Bytes)
	}
	// No keys are added to unsigned releases, either.
	fail := func([]byte, ...[]byte) ([]byte, error) {
		t.Error("unexpected request for keys")
		return nil, nil
	}
	w.publishLocal(t, w.layout(t), publish.Created, w.dist(t, nil, all...), publish.Options{Signing: publish.Signing{Keys: fail}})
	// A release of a remote source contains only the keys that the source offers.
	keyless := w.release(all...)
	keyless.Keys = nil
	w.offer(t, keyless)
	w.publish(t, w.layout(t), publish.Created, publish.Options{Signing: publish.Signing{Keys: fail}})
}
