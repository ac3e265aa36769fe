package filesystem_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// If one program pulls a directory for filesystem_mirror, another program can use the
// directory as a source.
func ExampleNew() {
	dir, remove := exampletest.Dir()
	defer remove()
	mirror := filepath.Join(dir, "mirror")
	ctx := context.Background()

	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	built, err := builddir.New(address, exampletest.Build(dir, "1.2.3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	versions, err := built.Versions(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := pull.NewSink(pull.LayoutPacked, mirror, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	linux := provider.Platform{OS: "linux", Arch: "amd64"}
	if _, err := pull.Release(ctx, built, sink, address, versions[0], pull.Options{Platforms: []provider.Platform{linux}}); err != nil {
		fmt.Println(err)
		return
	}

	src := filesystem.New(mirror)
	release, err := src.Release(ctx, address, versions[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(release.Version, release.Platforms())
	// Output:
	// 1.2.3 [linux_amd64]
}
