package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	all := []string{"hashicorp/aws", "hashicorp/null", "acme/aws", "registry.example.com/hashicorp/aws", "bücher.example:8443/a/b"}
	for _, test := range []struct {
		input, text string
		specificity int
		matches     []string
	}{
		{"*/*/*", "*/*/*", 0, all},
		{"*/*", "registry.opentofu.org/*/*", 1, all[:3]},
		{"HashiCorp/*", "registry.opentofu.org/hashicorp/*", 2, all[:2]},
		{"hashicorp/AWS", "registry.opentofu.org/hashicorp/aws", 3, all[:1]},
		{"registry.example.com/*/*", "registry.example.com/*/*", 1, all[3:4]},
		{"registry.example.com:443/hashicorp/*", "registry.example.com/hashicorp/*", 2, all[3:4]},
		{"BÜCHER.example:8443/a/b", "bücher.example:8443/a/b", 3, all[4:]},
		{"bücher.example/*/*", "bücher.example/*/*", 1, nil},
	} {
		t.Run(test.input, func(t *testing.T) {
			t.Parallel()
			p, err := provider.ParsePattern(test.input)
			if err != nil {
				t.Fatal(err)
			}
			if p.String() != test.text {
				t.Errorf("String: got %q, want %q", p, test.text)
			}
			if again, err := provider.ParsePattern(p.String()); err != nil || again != p {
				t.Errorf("String does not round-trip: %v, %v", again, err)
			}
			if n := p.Specificity(); n != test.specificity {
				t.Errorf("Specificity: got %d, want %d", n, test.specificity)
			}
			var matches []string
			for i, a := range addresses(t, all...) {
				if p.Match(a) {
					matches = append(matches, all[i])
				}
			}
			if diff := cmp.Diff(test.matches, matches); diff != "" {
				t.Errorf("wrong matches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePatternRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, input string
		offset      int
		problem     string
	}{
		{"one part", "*", 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE"},
		{"four parts", "*/*/*/*", 0, "must be NAMESPACE/TYPE or HOST/NAMESPACE/TYPE"},
		{"a namespace after any host", "*/hashicorp/*", 0, "every part after a * must also be *"},
		{"a type after any host", "*/*/aws", 0, "every part after a * must also be *"},
		{"a type after any namespace", "*/aws", 0, "every part after a * must also be *"},
		{"a * in a name", "hashi*/aws", 0, "the namespace is not valid"},
		{"a * in a host", "*.example.com/*/*", 0, "the host must be * or a host name"},
		{"an empty host", "/*/*", 0, "the host must be * or a host name"},
		{"an empty namespace", "example.com//*", 12, "the namespace is empty"},
		{"an empty type", "hashicorp/", 10, "the type is empty"},
		{"an underscore", "example.com/*/a_b", 14, "the type is not valid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParsePattern(test.input)
			checkSyntaxError(t, err, "provider pattern", test.input, test.offset, test.problem)
			if got != (provider.Pattern{}) {
				t.Errorf("got pattern %v with an error", got)
			}
		})
	}
}

func TestPatternZeroValueMatchesNothing(t *testing.T) {
	t.Parallel()
	var p provider.Pattern
	if p.Match(addresses(t, "hashicorp/aws")[0]) || p.Match(provider.Address{}) {
		t.Error("the pattern matches")
	}
	if p.String() != "" {
		t.Errorf("String: got %q", p)
	}
}
