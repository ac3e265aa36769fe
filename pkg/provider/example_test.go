package provider_test

import (
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func ExampleParseAddress() {
	a, err := provider.ParseAddress("HashiCorp/null")
	fmt.Println(a, err)

	_, err = provider.ParseAddress("hashicorp/terraform-provider-null")
	var syntax *provider.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Problem)
		fmt.Println(syntax.Pointer())
	}
	// Output:
	// registry.opentofu.org/hashicorp/null <nil>
	// the type must not start with "terraform-"; did you mean "null"?
	// hashicorp/terraform-provider-null
	//           ^
}

func ExampleRequirement_Select() {
	r, err := provider.ParseRequirement("hashicorp/aws@~> 5.0, != 5.10.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	var have []provider.Version
	for _, text := range []string{"4.67.0", "5.9.0", "5.10.0", "5.11.0-beta1", "6.0.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		have = append(have, v)
	}
	newest, err := r.Select(have, 1)
	fmt.Println(r.Address, newest, err)
	// Output:
	// registry.opentofu.org/hashicorp/aws [5.9.0] <nil>
}
