package template_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func TestModuleTemplate(t *testing.T) {
	t.Parallel()
	vpc := provider.Address{Host: provider.DefaultHost, Namespace: "Acme", Type: "vpc/aws"}
	for text, want := range map[string]string{
		"ghcr.io/acme/modules/{namespace}/{name}/{system}":     "ghcr.io/acme/modules/acme/vpc/aws",
		"ghcr.io/acme/modules/${namespace}/${name}/${system}":  "ghcr.io/acme/modules/acme/vpc/aws",
		"oci-layout:m/{hostname}/{namespace}/{name}/{system}":  "oci-layout:m/registry.opentofu.org/acme/vpc/aws",
		"ghcr.io/acme/{hostname}/{namespace}-{name}--{system}": "ghcr.io/acme/registry.opentofu.org/acme-vpc--aws",
	} {
		tmpl, err := template.ParseModule(text)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := tmpl.Repository(vpc)
		if err != nil || ref.String() != want {
			t.Errorf("%s: Repository() = %s, %v, want %s", text, ref, err, want)
		}
		lower := vpc
		lower.Namespace = "acme"
		if found, fits := tmpl.Match(ref); !fits || !slices.Contains(found, lower) {
			t.Errorf("%s: Match(%s) = %v, %v, want %v", text, ref, found, fits, lower)
		}
	}
}

func TestModuleTemplateRejects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ghcr.io/acme/{type}":          `unknown variable "type"`,
		"ghcr.io/${name}/{system}":     "cannot be mixed",
		"oci-layout://srv/{namespace}": "oci-layout:mirror/{name}",
	} {
		if _, err := template.ParseModule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseModule(%q) = %v, want %q", text, err, want)
		}
	}
	if _, err := template.Parse("ghcr.io/acme/{system}"); err == nil {
		t.Error("a provider template accepts {system}")
	}
	tmpl, err := template.ParseModule("ghcr.io/{hostname}/{namespace}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Repository(provider.Address{Host: "localhost:1234", Namespace: "acme", Type: "vpc/aws"})
	if err == nil || !strings.Contains(err.Error(), "the module's hostname localhost:1234 has a port") {
		t.Errorf("Repository() with a port: %v", err)
	}
}
