package template_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func TestCheckDistinct(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		template  string
		providers []string
		fine      bool
	}{
		"apart":        {"registry.example.com/{namespace}/{type}", []string{"hashicorp/null", "hashicorp/time", "acme/null"}, true},
		"no namespace": {"registry.example.com/all/{type}", []string{"hashicorp/null", "hashicorp/time", "acme/null"}, false},
		"layouts":      {"oci-layout:mirror/{type}", []string{"hashicorp/null", "acme/null"}, false},
	} {
		parsed, err := template.Parse(test.template)
		if err != nil {
			t.Fatal(err)
		}
		repositories := map[provider.Address]string{}
		var addresses []provider.Address
		for _, text := range test.providers {
			a, err := provider.ParseAddress(text)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := parsed.Repository(a)
			if err != nil {
				t.Fatal(err)
			}
			repositories[a] = ref.String()
			addresses = append(addresses, a, a)
		}
		if targets, err := template.Targets(addresses, parsed.Repository); (err == nil) != test.fine || len(targets) != len(repositories) {
			t.Errorf("%s: %v, %v", name, targets, err)
		}
		err = template.CheckDistinct(repositories)
		if (err == nil) != test.fine {
			t.Errorf("%s: %v", name, err)
		}
		if !test.fine && (provider.KindOf(err) != provider.Misuse || !strings.Contains(err.Error(), "acme/null and registry.opentofu.org/hashicorp/null")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
