package trust_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// stored is a source of one older release.
type stored struct{ release provider.Release }

func (s stored) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return []provider.Version{s.release.Version}, nil
}

func (s stored) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return s.release, nil
}

func (s stored) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return nil, 0, errors.ErrUnsupported
}

// TestKeyChanged: where nobody says which keys count, another key than before is
// told.
func TestKeyChanged(t *testing.T) {
	t.Parallel()
	older := func(r provider.Release) provider.Source {
		v, err := provider.ParseVersion("0.9.0")
		if err != nil {
			t.Fatal(err)
		}
		r.Version = v
		return stored{r}
	}
	by := func(name string, keys ...string) provider.Release { return signed(t, world.signatures[name], keys...) }
	now := by("rsa", "rsa")
	for name, test := range map[string]struct {
		policy trust.Policy
		told   bool
	}{
		"the same key":           {trust.Policy{Earlier: older(by("rsa", "rsa"))}, false},
		"another key":            {trust.Policy{Earlier: older(by("ed25519", "ed25519"))}, true},
		"another key, required":  {trust.Policy{Mode: trust.ModeRequire, Earlier: older(by("ed25519", "ed25519"))}, true},
		"another, expired":       {trust.Policy{Earlier: older(by("expired", "expired"))}, true},
		"unsigned before":        {trust.Policy{Earlier: older(signed(t, nil))}, false},
		"unknown before":         {trust.Policy{Earlier: older(by("ed25519"))}, false},
		"only this version":      {trust.Policy{Earlier: stored{by("ed25519", "ed25519")}}, false},
		"pinned":                 {trust.Policy{Rules: pin(t, "", "rsa"), Earlier: older(by("ed25519", "ed25519"))}, false},
		"in the keyring":         {trust.Policy{Keyring: keyring(t, "rsa"), Earlier: older(by("ed25519", "ed25519"))}, false},
		"nobody asks":            {trust.Policy{Mode: trust.ModeOff, Earlier: older(by("ed25519", "ed25519"))}, false},
		"a rule without any pin": {trust.Policy{Rules: rulesOf(t, "trust \"*/*/*\" {}"), Earlier: older(by("ed25519", "ed25519"))}, true},
	} {
		v, err := test.policy.JudgeOffered(t.Context(), now)
		if told := strings.Contains(v.Warning, "the key has changed: 0.9.0, which is there already, is signed by "); err != nil || told != test.told {
			t.Errorf("%s: got %q, %v", name, v.Warning, err)
		}
	}
}
