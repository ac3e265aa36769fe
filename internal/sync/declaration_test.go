package sync_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestDenies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, versions, address, version string
		want                                bool
	}{
		{"acme/rocket", "1.2.3", "acme/rocket", "1.2.3", true},
		{"acme/rocket", "1.2.3", "acme/rocket", "1.2.4", false},
		{"acme/rocket", "1.2.3", "acme/rocket", "1.2.3-beta1", false},
		{"acme/rocket", "1.2.3-beta1", "acme/rocket", "1.2.3-beta1", true},
		{"acme/rocket", "1.2.3", "acme/rockets", "1.2.3", false},
		{"acme/rocket", "1.2.3", "registry.terraform.io/acme/rocket", "1.2.3", false},
		{"*/*/*", "< 2.0.0", "registry.terraform.io/acme/rocket", "1.9.0", true},
		{"acme/*", "< 2.0.0", "acme/rocket", "1.9.0-beta1", true},
		{"acme/*", "< 2.0.0", "acme/rocket", "2.1.0-beta1", false},
	} {
		pattern, err := provider.ParsePattern(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		versions, err := provider.ParseConstraint(test.versions)
		if err != nil {
			t.Fatal(err)
		}
		d := sync.Denial{Pattern: sync.Pattern{Providers: pattern}, Versions: versions}
		if got := d.Denies(nouns.Address(t, test.address), nouns.Version(t, test.version)); got != test.want {
			t.Errorf("deny %s %q denies %s %s: %t", test.pattern, test.versions, test.address, test.version, got)
		}
	}
}
