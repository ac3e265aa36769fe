package origin_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// This example reads the metadata of a release. The platforms and the checksums of a
// release are known before any zip is downloaded.
func ExampleNew() {
	server := exampletest.NewOrigin("1.0.0")
	defer server.Close()
	ctx := context.Background()

	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	version, err := provider.ParseVersion("1.0.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// By default, the source uses public registries. This example uses a registry on a
	// loopback address.
	src := origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()})
	release, err := src.Release(ctx, address, version, provider.Platform{OS: "linux", Arch: "amd64"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(release.Protocols, release.Platforms())
	fmt.Println(release.Packages[0].Filename)
	// Output:
	// [6.0] [linux_amd64]
	// terraform-provider-rocket_1.0.0_linux_amd64.zip
}

// All sources return the same kinds of errors for missing content.
func ExampleSource_Release_errors() {
	server := exampletest.NewOrigin("1.0.0")
	defer server.Close()
	src := origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()})
	ctx := context.Background()

	for _, text := range []string{"acme/rocket@9.9.9", "acme/sled@1.0.0"} {
		wanted, err := provider.ParseRequirement(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		version, _ := wanted.Constraint.Exact()
		_, err = src.Release(ctx, wanted.Address, version)
		switch {
		case errors.Is(err, provider.ErrVersionNotFound):
			fmt.Println(text, "is not a version of this provider")
		case errors.Is(err, provider.ErrProviderNotFound):
			fmt.Println(text, "is not a provider of this registry")
		}
	}
	// Output:
	// acme/rocket@9.9.9 is not a version of this provider
	// acme/sled@1.0.0 is not a provider of this registry
}
