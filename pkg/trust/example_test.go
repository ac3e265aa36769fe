package trust_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// In this example, a pinned provider's releases must be signed by one of the keys in
// the trust file.
func ExamplePolicy_Verify() {
	rules, err := trust.ParseRules("trust.hcl", []byte(`
trust "example.com/acme/*" {
  fingerprints = ["C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F"]
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := trust.Policy{Rules: rules}

	address, _ := provider.ParseAddress("example.com/acme/widget")
	version, _ := provider.ParseVersion("1.2.3")
	unsigned := provider.Release{Address: address, Version: version}
	verdict, err := policy.Verify(context.Background(), unsigned)
	_, refused := errors.AsType[*trust.RefusedError](err)
	fmt.Println(verdict, refused)
	fmt.Println(err)
	// Output:
	// unsigned true
	// example.com/acme/widget 1.2.3 is refused: unsigned: nothing proves its origin
}
