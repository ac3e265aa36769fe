package repository_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestCopyVerifies checks that Copy calls Verify before it sends anything, and only if
// the target lacks the release.
func TestCopyVerifies(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		index := from.fill(t)
		refused := errors.New("refused on purpose")
		calls := 0
		options := repository.CopyOptions{Verify: func(_ context.Context, r repository.Reader, release repository.Inspection) (provider.Verdict, error) {
			if calls++; r == nil || release.Digest != index.Digest || len(release.Platforms) != 2 {
				t.Errorf("unexpected release %s with %d platforms", release.Digest, len(release.Platforms))
			}
			return provider.Verdict{Trust: provider.TrustBad}, refused
		}}
		before := to.state(t)
		done, err := repository.Copy(t.Context(), from.open(t), to.open(t), tag, options)
		if !errors.Is(err, refused) || done.Verdict.Trust != provider.TrustBad || done.Blobs != 0 || to.state(t) != before {
			t.Errorf("got %+v, %v", done, err)
		}
		refused = nil
		for range 2 {
			if _, err := repository.Copy(t.Context(), from.open(t), to.open(t), tag, options); err != nil {
				t.Error(err)
			}
		}
		if calls != 2 {
			t.Errorf("got %d calls of Verify, want 2", calls)
		}
	})
}
