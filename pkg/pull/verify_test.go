package pull_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

// TestVerify checks that signatures are verified before anything is written, and that
// results contain the verdict.
func TestVerify(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused on purpose")
	for _, layout := range pull.Layouts() {
		s := newDocumented(t)
		dir := filepath.Join(t.TempDir(), "out")
		sink, err := pull.NewSink(layout, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		options := pull.Options{Platforms: s.release.Platforms(), Verify: func(_ context.Context, r provider.Release) (provider.Verdict, error) {
			calls++
			if len(r.Documents) != 2 {
				t.Errorf("Verify got a release with %d documents", len(r.Documents))
			}
			return provider.Verdict{}, refused
		}}
		if _, err := pull.Release(t.Context(), s, sink, s.release.Address, s.release.Version, options); !errors.Is(err, refused) || calls != 1 {
			t.Errorf("%s: %d calls, got %v", layout, calls, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: files were written: %v", layout, err)
		}
		want := provider.Verdict{Trust: provider.TrustSigned, Fingerprint: "F"}
		options.Verify = func(context.Context, provider.Release) (provider.Verdict, error) { return want, nil }
		results, err := pull.Release(t.Context(), s, sink, s.release.Address, s.release.Version, options)
		if err != nil || len(results) != 1 || results[0].Verdict != want {
			t.Errorf("%s: got %+v, %v", layout, results, err)
		}
	}
}
