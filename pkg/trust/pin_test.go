package trust_test

import (
	"errors"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// TestPinSigners checks the rules for different histories of signatures.
func TestPinSigners(t *testing.T) {
	t.Parallel()
	at := func(version string, r provider.Release) provider.Release {
		v, err := provider.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		r.Version = v
		return r
	}
	by := func(name string) provider.Release { return signed(t, world.signatures[name], name) }
	unsigned := signed(t, nil)
	const head = "trust \"example.com/acme/thing\" {\n"
	pinned := func(lines string, names ...string) string {
		list := ""
		for _, name := range names {
			list += "    \"" + world.fingerprints[name] + "\",\n"
		}
		return head + "  fingerprints = [\n" + list + "  ]\n" + lines + "}\n"
	}
	for name, test := range map[string]struct {
		releases []provider.Release
		want     string
	}{
		"one":            {[]provider.Release{at("1.0.0", by("rsa"))}, pinned("  unsigned = \"refuse\"\n", "rsa")},
		"two keys":       {[]provider.Release{at("1.1.0", by("rsa")), at("1.0.1", by("rsa")), at("1.0.0", by("expired"))}, pinned("  unsigned = \"refuse\"\n", "rsa", "expired")},
		"signed since":   {[]provider.Release{at("1.2.0", by("rsa")), at("1.1.0", by("rsa")), at("1.0.0", unsigned)}, pinned("  unsigned = \"refuse\"\n  signed_since = \"1.1.0\"\n", "rsa")},
		"unsigned later": {[]provider.Release{at("1.1.0", unsigned), at("1.0.0", by("rsa"))}, pinned("  unsigned = \"warn\"\n", "rsa")},
		"never signed":   {[]provider.Release{at("1.0.0", unsigned)}, head + "  unsigned = \"warn\"\n}\n"},
	} {
		rule, found, err := trust.Policy{}.PinSigners(t.Context(), test.releases[0].Address, test.releases...)
		if err != nil || len(found) != len(test.releases) {
			t.Errorf("%s: found %d, %v", name, len(found), err)
			continue
		}
		got := trust.Rules{rule}
		want := rulesOf(t, test.want)
		if string(got.Bytes()) != string(want.Bytes()) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.Bytes(), want.Bytes())
		}
		// The rule accepts the releases that it was created from.
		for _, r := range test.releases {
			if v, err := (trust.Policy{Rules: got}).Verify(t.Context(), r); err != nil {
				t.Errorf("%s: %s is refused then: %s, %v", name, r.Version, v, err)
			}
		}
	}
	for name, r := range map[string]provider.Release{
		"revoked": by("revoked"), "bad": signed(t, world.signatures["other document"], "rsa"), "key unknown": signed(t, world.signatures["rsa"], "ed25519"),
	} {
		_, _, err := trust.Policy{}.PinSigners(t.Context(), r.Address, r)
		if _, refused := errors.AsType[*trust.RefusedError](err); !refused {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
