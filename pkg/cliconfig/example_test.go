package cliconfig_test

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
)

func ExampleParse() {
	config, err := cliconfig.Parse("tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["hashicorp/*"]
  }
  direct {
    exclude = ["hashicorp/*"]
  }
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range config.Installation.Methods {
		fmt.Println(m)
	}
	// Output:
	// oci_mirror ghcr.io/acme/${namespace}/${type} (tofurc:3:3)
	// direct (tofurc:7:3)
}
