package oci_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// New returns a source with the releases in an OCI repository.
func ExampleNew() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0", "1.1.0-beta1")
	ctx := context.Background()

	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	src := oci.New(func(provider.Address) (repository.Reader, error) {
		return repository.NewLayout(layout), nil
	})
	versions, err := src.Versions(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(versions)
	release, err := src.Release(ctx, address, versions[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range release.Packages {
		fmt.Println(p.Filename, p.Size, p.Digest.Encoded()[:12])
	}
	for _, d := range release.Documents {
		fmt.Println(d.Kind, d.Name)
	}
	// Output:
	// [1.1.0-beta1 1.0.0]
	// terraform-provider-rocket_1.0.0_darwin_arm64.zip 231 a0267c60cc26
	// terraform-provider-rocket_1.0.0_linux_amd64.zip 230 a3aee099efed
	// checksums terraform-provider-rocket_1.0.0_SHA256SUMS
}

// With a template, one source finds the repositories of many providers.
func ExampleNew_template() {
	mirrored, err := template.Parse("ghcr.io/acme/providers/{namespace}/{type}")
	if err != nil {
		fmt.Println(err)
		return
	}
	src := oci.New(func(a provider.Address) (repository.Reader, error) {
		ref, err := mirrored.Repository(a)
		if err != nil {
			return nil, err
		}
		fmt.Println("would read", ref)
		return nil, errors.New("this Example stays offline") // real programs call repository.Open instead
	})
	address, err := provider.ParseAddress("hashicorp/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = src.Versions(context.Background(), address)
	fmt.Println(err)
	// Output:
	// would read ghcr.io/acme/providers/hashicorp/null
	// this Example stays offline
}
