package publish_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// newSigners generates keys with gpg.
func newSigners(t *testing.T, n int) (signers []trust.Signer) {
	t.Helper()
	gpg, err := gpgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gpg.Close() })
	for i := range n {
		fingerprint, err := gpg.Key(t.Context(), strings.Repeat("x", i+5)+" <author@example.com>", gpgtest.At{Algorithm: "ed25519"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := gpg.ExportSecret(t.Context(), "", fingerprint)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "secret.asc")
		write(t, path, text)
		signer, err := trust.ReadSigner(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		signers = append(signers, signer)
	}
	return signers
}

// wantSigned checks that the stored checksums are signed by signer.
func (w *world) wantSigned(t *testing.T, to *target, signer trust.Signer, platforms ...provider.Platform) {
	t.Helper()
	r := w.wantStored(t, to, platforms...)
	w.wantSums(t, r, platforms...)
	v, err := trust.Policy{Mode: trust.ModeRequire, Keyring: signer.Keyring()}.Verify(t.Context(), r)
	if err != nil || v.Trust != provider.TrustSigned {
		t.Errorf("got verdict %s, %v", v, err)
	}
	if keys, _ := r.Document(provider.KindKeys); string(keys.Bytes) != string(signer.Keys()) {
		t.Errorf("got keys %q", keys.Bytes)
	}
}

// TestSigned checks that generated checksums and an unsigned SHA256SUMS of the source
// are signed.
func TestSigned(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 1)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		for _, files := range []map[string]string{nil, {"_SHA256SUMS": w.listing(all...)}} {
			if to.registry == nil {
				to = w.layout(t)
			}
			dir := w.dist(t, files, all...)
			want := publish.Created
			if to.digest(t) != "" {
				want = publish.Unchanged
			}
			w.publishLocal(t, to, want, dir, publish.Options{Signing: publish.Signing{Signer: signers[0]}})
			w.wantSigned(t, to, signers[0], all...)
			// A second run with or without the key changes nothing.
			state := to.state(t)
			w.publishLocal(t, to, publish.Unchanged, dir, publish.Options{Signing: publish.Signing{Signer: signers[0]}})
			w.publishLocal(t, to, publish.Unchanged, dir, publish.Options{})
			if to.state(t) != state {
				t.Error("unexpected writes")
			}
		}
	})
}

// TestSignedLater checks that a signature is added to an unsigned release.
func TestSignedLater(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 1)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		dir := w.dist(t, nil, all...)
		w.publishLocal(t, to, publish.Created, dir, publish.Options{})
		result := w.publishLocal(t, to, publish.Extended, dir, publish.Options{Signing: publish.Signing{Signer: signers[0]}})
		if !slices.Contains(result.Added, stem+"_SHA256SUMS.sig") {
			t.Errorf("got added documents %q", result.Added)
		}
		wantSent(t, result)
		w.wantSigned(t, to, signers[0], all...)
	})
}

// TestSignedMatrix checks jobs with the same key that publish one platform each. Each
// job signs all platforms that have been published so far.
func TestSignedMatrix(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		done := []provider.Platform{}
		for i, p := range all {
			want := publish.Extended
			if i == 0 {
				want = publish.Created
			}
			w.publishLocal(t, to, want, w.dist(t, nil, p), publish.Options{Signing: publish.Signing{Signer: signers[0]}})
			done = append(done, p)
			w.wantSigned(t, to, signers[0], done...)
		}
	})
	// Without the key, or with a different key, the signature would not match the new
	// checksums.
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{Signing: publish.Signing{Signer: signers[0]}})
		was := to.digest(t)
		for _, o := range []publish.Options{{}, {Signing: publish.Signing{Signer: signers[1]}}} {
			_, err := w.runLocal(t, to, w.dist(t, nil, plan9), o)
			if conflict, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "does not match the package for plan9_mips64") {
				t.Errorf("got %v", err)
			}
			to.wantTag(t, was)
		}
	})
}

// TestSignsNothingOfOthers checks that stored packages without a signature are not
// signed, because their origin is unknown.
func TestSignsNothingOfOthers(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 1)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publishLocal(t, to, publish.Created, w.dist(t, nil, haiku), publish.Options{})
		was := to.digest(t)
		_, err := w.runLocal(t, to, w.dist(t, nil, plan9), publish.Options{Signing: publish.Signing{Signer: signers[0]}})
		if conflict, ok := errors.AsType[*repository.ConflictError](err); !ok || !strings.Contains(conflict.Error(), "signing this release would also sign the stored package for haiku_riscv64") {
			t.Errorf("got %v", err)
		}
		to.wantTag(t, was)
		w.publishLocal(t, to, publish.Extended, w.dist(t, nil, haiku, plan9), publish.Options{Signing: publish.Signing{Signer: signers[0]}})
		w.wantSigned(t, to, signers[0], haiku, plan9)
	})
}

// TestOtherSignaturesAreKept checks that a signed release is not signed again.
func TestOtherSignaturesAreKept(t *testing.T) {
	t.Parallel()
	signers := newSigners(t, 2)
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	signature, err := signers[1].Sign([]byte(w.listing(all...)))
	if err != nil {
		t.Fatal(err)
	}
	dir := w.dist(t, map[string]string{"_SHA256SUMS": w.listing(all...), "_SHA256SUMS.sig": string(signature)}, all...)
	w.publishLocal(t, to, publish.Created, dir, publish.Options{Signing: publish.Signing{Signer: signers[0]}})
	r := w.wantStored(t, to, all...)
	if v, err := (trust.Policy{Keyring: signers[1].Keyring()}).Verify(t.Context(), r); err != nil || v.Trust != provider.TrustSigned {
		t.Errorf("got verdict %s, %v", v, err)
	}
	if _, has := r.Document(provider.KindKeys); has {
		t.Error("an unrelated key was added")
	}
}
