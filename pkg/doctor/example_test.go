package doctor_test

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/doctor"
)

func ExampleCheckConfig() {
	config, err := cliconfig.Parse(".tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${type}"
    include             = ["hashicorp/*"]
  }
  direct {}
}`))
	if err != nil {
		panic(err)
	}
	for _, f := range doctor.CheckConfig(config, nil) {
		fmt.Println(f.Severity, f.Code)
		fmt.Println(f.Remedy)
	}
	// Output:
	// warning direct-not-excluded
	// exclude = ["registry.opentofu.org/hashicorp/*"]
}
