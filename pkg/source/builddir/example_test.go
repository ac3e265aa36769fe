package builddir_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// This example reads a locally built release. Check finds problems that would keep
// OpenTofu from installing a package.
func ExampleNew() {
	dir, remove := exampletest.Dir()
	defer remove()
	dist := exampletest.Build(dir, "1.2.3")
	ctx := context.Background()

	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := builddir.New(address, dist)
	if err != nil {
		fmt.Println(err)
		return
	}
	versions, err := src.Versions(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = src.Check(ctx, address, versions[0])
	var unfit *builddir.PackageError
	if errors.As(err, &unfit) {
		fmt.Println(unfit.Path, unfit.Problems)
		return
	}
	release, err := src.Release(ctx, address, versions[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(release.Version, release.Platforms())
	// Output:
	// 1.2.3 [darwin_arm64 linux_amd64]
}
