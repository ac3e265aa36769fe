package publish_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

var errRefused = errors.New("refused on purpose")

// fakeVerifier records the documents of the releases that it verifies, and returns a fixed verdict.
type fakeVerifier struct {
	releases [][]string
	verdict  provider.Verdict
	err      error
}

func (f *fakeVerifier) verify(_ context.Context, r provider.Release) (provider.Verdict, error) {
	var documents []string
	for _, d := range r.Documents {
		documents = append(documents, string(d.Kind)+" "+string(d.Bytes[:min(10, len(d.Bytes))]))
	}
	f.releases = append(f.releases, documents)
	return f.verdict, f.err
}

// TestVerify checks that the signature is verified before anything is sent, and that the result
// contains the verdict.
func TestVerify(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		f := &fakeVerifier{verdict: provider.Verdict{Trust: provider.TrustRevoked}, err: errRefused}
		before := to.state(t)
		for _, o := range []publish.Options{{Verify: f.verify}, {Verify: f.verify, DryRun: true}, {Verify: f.verify, Force: true}} {
			result, err := publish.Release(t.Context(), w.source(), to.open(t), w.address, w.version, o)
			if !errors.Is(err, errRefused) || result.Verdict != f.verdict {
				t.Errorf("got %s, %v, want %s, %v", result.Verdict, err, f.verdict, errRefused)
			}
		}
		if to.state(t) != before || w.origin.Requests()[origintest.Zip] != 0 {
			t.Error("content was fetched or written although the signature was refused")
		}
		if n := len(f.releases); n != 3 || len(f.releases[0]) != 3 || f.releases[0][1] != "signature a signatur" || f.releases[0][2] != "keys a key\n" {
			t.Errorf("unexpected verified documents: %q", f.releases)
		}
		f.verdict, f.err = provider.Verdict{Trust: provider.TrustSigned, Fingerprint: "F"}, nil
		if result := w.publish(t, to, publish.Created, publish.Options{Verify: f.verify}); result.Verdict != f.verdict {
			t.Errorf("got verdict %s, want %s", result.Verdict, f.verdict)
		}
	})
}

// TestVerifyUnchanged checks that an unchanged release is verified only with
// AgainstOrigin. The stored documents are verified with the keys that the source
// currently offers.
func TestVerifyUnchanged(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{})
		r := w.release(all...)
		r.Keys, r.Signature = []string{"today's key"}, []byte("today's signature")
		w.offer(t, r)
		f := &fakeVerifier{verdict: provider.Verdict{Trust: provider.TrustSigned}}
		for _, o := range []publish.Options{{Verify: f.verify}, {Verify: f.verify, Check: repository.DepthContent}} {
			if result := w.publish(t, to, publish.Unchanged, o); result.Verdict != (provider.Verdict{}) || f.releases != nil {
				t.Errorf("an unchanged release was verified: %s, %q", result.Verdict, f.releases)
			}
		}
		if result := w.publish(t, to, publish.Unchanged, publish.Options{Verify: f.verify, AgainstOrigin: true}); result.Verdict != f.verdict {
			t.Errorf("got verdict %s, want %s", result.Verdict, f.verdict)
		}
		if len(f.releases) != 1 || !cmp.Equal(f.releases[0][1:], []string{"signature a signatur", "keys today's ke"}) {
			t.Errorf("unexpected verified documents: %q", f.releases)
		}
		f.err = errRefused
		if _, err := publish.Release(t.Context(), w.source(), to.open(t), w.address, w.version, publish.Options{Verify: f.verify, AgainstOrigin: true}); !errors.Is(err, errRefused) {
			t.Errorf("got %v, want %v", err, errRefused)
		}
	})
}

// TestVerifyStoredDocuments checks that stored documents are verified if the source has
// no documents.
func TestVerifyStoredDocuments(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
		r := w.release(all...)
		r.Keys = nil
		w.offer(t, r)
		f := &fakeVerifier{}
		w.publish(t, to, publish.Extended, publish.Options{Verify: f.verify})
		if len(f.releases) != 1 || len(f.releases[0]) != 2 {
			t.Errorf("got documents %q, want none of the keys that the source does not offer", f.releases)
		}
	})
}
