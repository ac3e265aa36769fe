package pull_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

func TestSinkPathsWithPorts(t *testing.T) {
	t.Parallel()
	p := sinkPackage(t, sinkZip(t, "one", "terraform-provider-x"))
	var err error
	if p.Address, err = provider.ParseAddress("registry.example:8443/acme/x"); err != nil {
		t.Fatal(err)
	}
	for _, layout := range []pull.Layout{pull.LayoutPacked, pull.LayoutUnpacked} {
		s, err := pull.NewSink(layout, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Has(t.Context(), p); err == nil || !strings.Contains(err.Error(), "registry.example:8443") {
			t.Errorf("%s: error %v, want one that names the host with its port", layout, err)
		}
	}
}
