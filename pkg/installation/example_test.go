package installation_test

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/installation"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func ExampleInstallation_Target() {
	config, err := cliconfig.Parse("tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["hashicorp/*"]
  }
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	i, err := installation.New(installation.Options{Config: config, OCI: func(template.Template) provider.Source {
		return oci.New(nil) // nothing is asked here
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"hashicorp/null", "acme/thing"} {
		a, err := provider.ParseAddress(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		ref, _, err := i.Target(a)
		fmt.Println(ref, err)
	}
	// Output:
	// ghcr.io/acme/hashicorp/null <nil>
	//  no oci_mirror of the CLI configuration is for registry.opentofu.org/acme/thing, so it names no repository
}
