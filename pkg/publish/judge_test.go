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

// judged records the documents of the releases that are verified.
type judged struct {
	releases [][]string
	verdict  provider.Verdict
	err      error
}

func (j *judged) judge(_ context.Context, r provider.Release) (provider.Verdict, error) {
	var documents []string
	for _, d := range r.Documents {
		documents = append(documents, string(d.Kind)+" "+string(d.Bytes[:min(10, len(d.Bytes))]))
	}
	j.releases = append(j.releases, documents)
	return j.verdict, j.err
}

// TestJudge checks that the signature is verified before anything is sent, and that the result
// contains the verdict.
func TestJudge(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		j := &judged{verdict: provider.Verdict{Trust: provider.TrustRevoked}, err: errRefused}
		before := to.state(t)
		for _, o := range []publish.Options{{Verify: j.judge}, {Verify: j.judge, DryRun: true}, {Verify: j.judge, Force: true}} {
			result, err := publish.Release(t.Context(), w.source(), to.open(t), w.address, w.version, o)
			if !errors.Is(err, errRefused) || result.Verdict != j.verdict {
				t.Errorf("got %s, %v", result.Verdict, err)
			}
		}
		if to.state(t) != before || w.origin.Requests()[origintest.Zip] != 0 {
			t.Error("something was fetched or written, though it was refused")
		}
		if n := len(j.releases); n != 3 || len(j.releases[0]) != 3 || j.releases[0][1] != "signature a signatur" || j.releases[0][2] != "keys a key\n" {
			t.Errorf("judged was %q", j.releases)
		}
		j.verdict, j.err = provider.Verdict{Trust: provider.TrustSigned, Fingerprint: "F"}, nil
		if result := w.publish(t, to, publish.Created, publish.Options{Verify: j.judge}); result.Verdict != j.verdict {
			t.Errorf("got %s", result.Verdict)
		}
	})
}

// TestJudgeAgain checks that an unchanged release is verified only with Recheck: the stored
// documents with the keys that the source offers now.
func TestJudgeAgain(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{})
		r := w.release(all...)
		r.Keys, r.Signature = []string{"today's key"}, []byte("today's signature")
		w.offer(t, r)
		j := &judged{verdict: provider.Verdict{Trust: provider.TrustSigned}}
		for _, o := range []publish.Options{{Verify: j.judge}, {Verify: j.judge, Check: repository.DepthContent}} {
			if result := w.publish(t, to, publish.Unchanged, o); result.Verdict != (provider.Verdict{}) || j.releases != nil {
				t.Errorf("an unchanged release was judged: %s, %q", result.Verdict, j.releases)
			}
		}
		if result := w.publish(t, to, publish.Unchanged, publish.Options{Verify: j.judge, Recheck: true}); result.Verdict != j.verdict {
			t.Errorf("got %s", result.Verdict)
		}
		if len(j.releases) != 1 || !cmp.Equal(j.releases[0][1:], []string{"signature a signatur", "keys today's ke"}) {
			t.Errorf("judged was %q", j.releases)
		}
		j.err = errRefused
		if _, err := publish.Release(t.Context(), w.source(), to.open(t), w.address, w.version, publish.Options{Verify: j.judge, Recheck: true}); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
	})
}

// TestJudgeWhatIsKept checks that stored documents are verified if the source has none.
func TestJudgeWhatIsKept(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
		r := w.release(all...)
		r.Keys = nil
		w.offer(t, r)
		j := &judged{}
		w.publish(t, to, publish.Extended, publish.Options{Verify: j.judge})
		if len(j.releases) != 1 || len(j.releases[0]) != 2 {
			t.Errorf("keys that the source does not offer were judged by: %q", j.releases)
		}
	})
}
