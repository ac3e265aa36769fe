package pull_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// This example unpacks a package for OpenTofu's filesystem_mirror and plugin cache. The
// directory appears only if the entire zip is valid.
func ExampleRelease_unpacked() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.2.3")
	ctx := context.Background()

	wanted, err := provider.ParseRequirement("acme/rocket@1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	src := oci.New(func(provider.Address) (repository.Reader, error) {
		return repository.NewLayout(layout), nil
	})
	versions, err := source.Resolve(ctx, src, wanted, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := pull.NewSink(pull.LayoutUnpacked, filepath.Join(dir, "plugins"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := pull.Release(ctx, src, sink, wanted.Address, versions[0], pull.Options{
		Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}}, // if empty, this machine's platform
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		path, err := filepath.Rel(dir, r.Path)
		fmt.Println(filepath.ToSlash(path), err)
	}
	// Output:
	// plugins/registry.opentofu.org/acme/rocket/1.2.3/linux_amd64 <nil>
}

// This example stores the zips of all platforms in one directory, together with
// SHA256SUMS. The second run keeps the existing files.
func ExampleRelease_zip() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.2.3")
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
	release, err := src.Release(ctx, address, versions[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := pull.NewSink(pull.LayoutZip, filepath.Join(dir, "zips"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		results, err := pull.Release(ctx, src, sink, address, release.Version, pull.Options{
			Platforms: release.Platforms(), Documents: true,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range results {
			fmt.Println(filepath.Base(r.Path), "kept:", r.Kept, "documents:", len(r.Documents))
		}
	}
	// Output:
	// terraform-provider-rocket_1.2.3_darwin_arm64.zip kept: false documents: 1
	// terraform-provider-rocket_1.2.3_linux_amd64.zip kept: false documents: 1
	// terraform-provider-rocket_1.2.3_darwin_arm64.zip kept: true documents: 1
	// terraform-provider-rocket_1.2.3_linux_amd64.zip kept: true documents: 1
}

// A network mirror for any web server consists of zips and of the JSON documents that
// clients request. The second run adds a version.
func ExampleRelease_network() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.2.3", "1.3.0")
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
	sink, err := pull.NewSink(pull.LayoutNetwork, filepath.Join(dir, "www"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, version := range versions {
		_, err := pull.Release(ctx, src, sink, address, version, pull.Options{
			Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "www", "registry.opentofu.org", "acme", "rocket"))
	for _, file := range files {
		fmt.Println(file.Name())
	}
	fmt.Println(err)
	// Output:
	// 1.2.3.json
	// 1.3.0.json
	// index.json
	// terraform-provider-rocket_1.2.3_linux_amd64.zip
	// terraform-provider-rocket_1.3.0_linux_amd64.zip
	// <nil>
}

// The error's kind identifies the reason for a failure.
func ExampleRelease_errors() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.2.3")

	wanted, err := provider.ParseRequirement("acme/rocket@1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	version, _ := wanted.Constraint.Exact()
	src := oci.New(func(provider.Address) (repository.Reader, error) {
		return repository.NewLayout(layout), nil
	})
	sink, err := pull.NewSink(pull.LayoutZip, filepath.Join(dir, "zips"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = pull.Release(context.Background(), src, sink, wanted.Address, version, pull.Options{
		Platforms: []provider.Platform{{OS: "plan9", Arch: "arm"}},
	})

	var platform *provider.PlatformError
	switch {
	case errors.As(err, &platform):
		fmt.Println("missing:", platform.Wanted, "existing:", platform.Have)
	case errors.Is(err, provider.ErrVersionNotFound), errors.Is(err, provider.ErrProviderNotFound):
		fmt.Println("look for another one:", err)
	case errors.Is(err, provider.ErrForbidden):
		fmt.Println("log in first:", err)
	}
	// Output:
	// missing: plan9_arm existing: [darwin_arm64 linux_amd64]
}

// Progress callbacks are called concurrently.
func ExampleOptions_progress() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx := context.Background()

	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := builddir.New(address, exampletest.Build(dir, "1.2.3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	versions, err := src.Versions(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := pull.NewSink(pull.LayoutPacked, filepath.Join(dir, "mirror"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = pull.Release(ctx, src, sink, address, versions[0], pull.Options{
		Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}},
		Progress: provider.Progress{
			Begin: func(p provider.Package, total int64) { fmt.Println("started:", p.Platform, total, "bytes") },
			End:   func(p provider.Package, err error) { fmt.Println("ends:", p.Platform, err) },
			Retry: func(what string, err error) { fmt.Println("once more:", what, err) },
		},
	})
	fmt.Println(err)
	// Output:
	// started: linux_amd64 230 bytes
	// ends: linux_amd64 <nil>
	// <nil>
}

// Many pulls multiple providers. A failure doesn't stop the other providers, and
// results are in the order of the requirements.
func ExampleMany() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.2.3", "1.3.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) {
		return repository.NewLayout(layout), nil
	})
	sink, err := pull.NewSink(pull.LayoutPacked, filepath.Join(dir, "mirror"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var wanted []provider.Requirement
	for _, text := range []string{"acme/rocket@~> 1.2.0", "acme/rocket@> 2", "acme/rocket"} {
		r, err := provider.ParseRequirement(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		wanted = append(wanted, r)
	}
	err = pull.Many(context.Background(), src, sink, wanted, pull.ManyOptions{
		Options: pull.Options{Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}}},
		OnResult: func(p pull.Pulled) {
			if errors.Is(p.Err, provider.ErrVersionNotFound) {
				fmt.Println(p.Requirement, "is missing")
				return
			}
			fmt.Println(p.Version, len(p.Packages), p.Err)
		},
	})
	fmt.Println(err)
	// Output:
	// 1.2.3 1 <nil>
	// registry.opentofu.org/acme/rocket@> 2 is missing
	// 1.3.0 1 <nil>
	// <nil>
}
