package template_test

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func ExampleTemplate_Repository() {
	address, err := provider.ParseAddress("hashicorp/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{
		"ghcr.io/acme/providers/${namespace}/${type}",
		"ghcr.io/acme/providers/{namespace}/{type}",
		"oci-layout:mirror/{hostname}/{namespace}/{type}",
		"ghcr.io/Acme/{type}",
	} {
		parsed, err := template.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		repository, err := parsed.Repository(address)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(repository)
	}
	// Output:
	// ghcr.io/acme/providers/hashicorp/null
	// ghcr.io/acme/providers/hashicorp/null
	// oci-layout:mirror/registry.opentofu.org/hashicorp/null
	// repository template "ghcr.io/Acme/{type}" for registry.opentofu.org/hashicorp/null: "ghcr.io/Acme/null": "Acme": repository names must not contain upper-case letters
}

// Parse accepts both forms. HCL returns the form that OpenTofu reads.
func ExampleParse() {
	t, err := template.Parse("ghcr.io/acme/providers/{namespace}/{type}")
	if err != nil {
		fmt.Println(err)
		return
	}
	hostname, namespace, typ := t.Uses()
	fmt.Println(t.HCL(), hostname, namespace, typ)

	_, err = template.Parse("ghcr.io/acme/providers/{name}")
	var syntax *provider.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Problem)
	}
	// Output:
	// ghcr.io/acme/providers/${namespace}/${type} false true true
	// unknown variable "name"; available variables: hostname, namespace, type
}
