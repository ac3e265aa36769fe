package publish_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// This example checks a locally built release, and publishes it to an image layout. For
// a registry, use repository.Open.
func ExampleRelease() {
	dir, remove := exampletest.Dir()
	defer remove()
	dist := exampletest.Build(dir, "1.2.3") // contains terraform-provider-rocket_1.2.3_OS_ARCH.zip
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
	repo := repository.NewLayout(filepath.Join(dir, "layout"))
	for _, version := range versions {
		result, err := publish.Release(ctx, src, repo, address, version, publish.Options{
			Index: artifact.Options{SourceURL: "https://git.example.com/acme/rocket"},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Status, result.Tag, len(result.Packages))
	}
	// Output:
	// created 1.2.3 2
}

// This example copies a release between repositories. Content that the target already
// has is not sent again. If content would be lost, Copy returns a conflict.
func ExampleCopy() {
	dir, remove := exampletest.Dir()
	defer remove()
	from := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	to := repository.NewLayout(filepath.Join(dir, "copy"))
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
	for range 2 {
		result, err := new(publish.Publisher).Copy(context.Background(), from, to, address, version, publish.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Status, result.Tag, "sent:", result.Packages[0].Sent)
	}
	// Output:
	// created 1.0.0 sent: true
	// unchanged 1.0.0 sent: false
}

// Publishing a version again with different content is an error, because clients that
// locked the first release could not install the new content.
func ExampleRelease_conflict() {
	dir, remove := exampletest.Dir()
	defer remove()
	repo := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	dist := exampletest.Rebuild(dir, "1.0.0")
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
	version, err := provider.ParseVersion("1.0.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = publish.Release(ctx, src, repo, address, version, publish.Options{})
	var conflict *repository.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println("conflict about", conflict.Release)
	}
	result, err := publish.Release(ctx, src, repo, address, version, publish.Options{Force: true})
	fmt.Println(result.Status, err)
	// Output:
	// conflict about registry.opentofu.org/acme/rocket 1.0.0
	// replaced <nil>
}
