package installation_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
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
		return oci.New(nil) // this example makes no requests
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
	//  no oci_mirror in the CLI configuration matches registry.opentofu.org/acme/thing, so its repository is unknown
}

// An Installation returns the releases that OpenTofu would install according to the CLI
// configuration.
func ExampleNew() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0")
	server := exampletest.NewOrigin("1.0.0", "2.0.0")
	defer server.Close()

	config, err := cliconfig.Parse("tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["acme/*"]
  }
  direct {
    exclude = ["acme/*"]
  }
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	i, err := installation.New(installation.Options{
		Config: config,
		Direct: origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()}),
		OCI: func(template.Template) provider.Source {
			return oci.New(func(provider.Address) (repository.Reader, error) {
				return repository.NewLayout(layout), nil // real programs return the template's repository
			})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rocket, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range i.Explain(rocket) {
		fmt.Println(step.Method.Kind, step.Matches, step.Pattern)
	}
	versions, err := i.Versions(context.Background(), rocket)
	fmt.Println(versions, err)

	other, err := provider.ParseAddress("other/sled")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = i.Versions(context.Background(), other)
	fmt.Println(errors.Is(err, provider.ErrProviderNotFound))
	// Output:
	// oci_mirror true registry.opentofu.org/acme/*
	// direct false registry.opentofu.org/acme/*
	// [1.0.0] <nil>
	// true
}
