package oci_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// TestVerifyCopy checks that a copy is verified with the signature and the keys in the
// repository.
func TestVerifyCopy(t *testing.T) {
	t.Parallel()
	m := newMirror(t, true)
	m.foreign().put(t)
	from, err := m.open(m.address)
	if err != nil {
		t.Fatal(err)
	}
	var got provider.Release
	refused := errors.New("refused on purpose")
	verify := oci.VerifyCopy(m.address, func(_ context.Context, r provider.Release) (provider.Verdict, error) {
		got = r
		return provider.Verdict{Trust: provider.TrustUnsigned}, refused
	})
	to := repository.NewLayout(t.TempDir())
	done, err := repository.Copy(t.Context(), from, to, m.version.String(), repository.CopyOptions{Verify: verify})
	if !errors.Is(err, refused) || done.Verdict.Trust != provider.TrustUnsigned {
		t.Errorf("got %+v, %v", done, err)
	}
	if sums, has := got.Document(provider.KindSums); got.Address != m.address || got.Version != m.version || len(got.Packages) != 2 || !has || len(sums.Bytes) == 0 {
		t.Errorf("unexpected release %+v", got)
	}
}
