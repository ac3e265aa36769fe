package template_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		template, reference string
		fits                bool
		want                []string
	}{
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/acme/hashicorp/aws", true, []string{"registry.opentofu.org/hashicorp/aws"}},
		{"ghcr.io/acme/${namespace}/${type}", "ghcr.io/acme/hashicorp/aws", true, []string{"registry.opentofu.org/hashicorp/aws"}},
		{"ghcr.io/acme/{hostname}/{namespace}/{type}", "ghcr.io/acme/registry.terraform.io/hashicorp/aws", true, []string{"registry.terraform.io/hashicorp/aws"}},
		{"ghcr.io/acme/{type}-{namespace}", "ghcr.io/acme/beta-google", true, []string{"registry.opentofu.org/google/beta"}},
		{"ghcr.io/{type}/{type}.{namespace}", "ghcr.io/aws/aws.hashicorp", true, []string{"registry.opentofu.org/hashicorp/aws"}},
		{"ghcr.io/{type}/{type}.{namespace}", "ghcr.io/aws/awx.hashicorp", false, nil},
		// Names that can be split in two ways.
		{
			"ghcr.io/{namespace}-{type}", "ghcr.io/hashicorp-google-beta", true,
			[]string{"registry.opentofu.org/hashicorp/google-beta", "registry.opentofu.org/hashicorp-google/beta"},
		},
		// The reference doesn't identify the provider.
		{"ghcr.io/acme/terraform-provider-{type}", "ghcr.io/acme/terraform-provider-rocket", true, nil},
		{"oci-layout:mirror", "oci-layout:mirror", true, nil},
		// References that the template never produces.
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/acme/hashicorp", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/acme/hashicorp/aws/beta", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/other/hashicorp/aws", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "quay.io/acme/hashicorp/aws", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/acme/a_b/aws", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "ghcr.io/acme/hashicorp/terraform-provider-aws", false, nil},
		{"ghcr.io/acme/{namespace}/{type}", "oci-layout:ghcr.io/acme/hashicorp/aws", false, nil},
		{"oci-layout:m/{hostname}/{namespace}/{type}", "oci-layout:m/no host/acme/x", false, nil},
		// Layouts.
		{"oci-layout:m/{hostname}/{namespace}/{type}", "oci-layout:m/localhost_8080/acme/x", true, []string{"localhost:8080/acme/x"}},
		{`oci-layout:C:\m\{namespace}\{type}`, `oci-layout:C:\m\acme\x`, true, []string{"registry.opentofu.org/acme/x"}},
		{`oci-layout:C:\m\{namespace}\{type}`, `oci-layout:C:\m\a\cme\x`, false, nil},
		{"oci-layout:m/{namespace}/{type}", "oci-layout:m/größe/x", true, []string{"registry.opentofu.org/größe/x"}},
		{"oci-layout:m/{namespace}/{type}", "oci-layout:m/ACME/x", false, nil},
		// Templates that contain more than text and variables.
		{`ghcr.io/${type == "x" ? "a" : "b"}/${namespace}`, "ghcr.io/a/acme", false, nil},
	} {
		parsed, err := template.Parse(test.template)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := template.ParseReference(test.reference)
		if err != nil {
			t.Fatal(err)
		}
		found, fits := parsed.Match(ref)
		var got []string
		for _, a := range found {
			got = append(got, a.String())
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" || fits != test.fits {
			t.Errorf("%s of %s: fits %v, -want +got:\n%s", test.reference, test.template, fits, diff)
		}
	}
}

// TestMatchIsBounded matches the longest name with a template that has no separators.
func TestMatchIsBounded(t *testing.T) {
	t.Parallel()
	parsed, err := template.Parse("ghcr.io/{hostname}{namespace}{type}")
	if err != nil {
		t.Fatal(err)
	}
	found, fits := parsed.Match(template.Reference{Registry: "ghcr.io", Name: strings.Repeat("a", 255)})
	if len(found) != 16 || !fits {
		t.Errorf("%d addresses, %v", len(found), fits)
	}
}

func TestInvertible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		invertible bool
		literal    string
	}{
		"ghcr.io/acme/{namespace}/{type}":        {true, "ghcr.io/acme/"},
		"ghcr.io/acme/p-${type}":                 {true, "ghcr.io/acme/p-"},
		"${type}":                                {true, ""},
		"oci-layout:mirror":                      {true, "mirror"},
		`ghcr.io/${type == "x" ? "a" : "b"}/%%{`: {false, `ghcr.io/${type == "x" ? "a" : "b"}/%%{`},
	} {
		parsed, err := template.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Invertible() != want.invertible || parsed.Literal() != want.literal {
			t.Errorf("%s: %v, %q", text, parsed.Invertible(), parsed.Literal())
		}
	}
}

// FuzzMatch checks that Match inverts Repository.
func FuzzMatch(f *testing.F) {
	f.Add("ghcr.io/{namespace}/{type}", "hashicorp/aws")
	f.Add("oci-layout:m/{hostname}/{namespace}/{type}", "localhost:8080/acme/x")
	f.Add("ghcr.io/${type}${namespace}", "acme/x")
	f.Fuzz(func(t *testing.T, text, providerAddress string) {
		parsed, err := template.Parse(text)
		if err != nil || !parsed.Invertible() {
			return
		}
		a, err := provider.ParseAddress(providerAddress)
		if err != nil {
			return
		}
		ref, err := parsed.Repository(a)
		if err != nil {
			return
		}
		found, fits := parsed.Match(ref)
		hostname, namespace, typ := parsed.Uses()
		if !hostname {
			a.Host = provider.DefaultHost
		}
		if !fits || namespace && typ && len(found) < 16 && !slices.Contains(found, a) {
			t.Errorf("%s of %s: %v, %v", ref, text, found, fits)
		}
	})
}
