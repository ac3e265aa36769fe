package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Directory locks acme/rocket with the hashes of all platforms in the repository.
func ExampleDirectory() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0", "1.1.0", "2.0.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) { return repository.NewLayout(layout), nil })

	wanted, err := provider.ParseRequirement("acme/rocket@~> 1.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	change, err := lock.Directory(context.Background(), src, dir, lock.FileOptions{Named: []provider.Requirement{wanted}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range change.Providers {
		fmt.Println(p.Requirement.Address, p.Selection.Version, len(p.Selection.Hashes), p.Err)
	}
	fmt.Printf("%.42s\n", change.New)
	// Output:
	// registry.opentofu.org/acme/rocket 1.1.0 4 <nil>
	// # This file is maintained automatically by
}

// The hashes of a release come from metadata in the repository.
func ExampleHashes() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) { return repository.NewLayout(layout), nil })
	wanted, err := provider.ParseRequirement("acme/rocket@1.0.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	version, _ := wanted.Constraint.Exact()
	hashes, err := lock.Hashes(context.Background(), src, wanted.Address, version, lock.Options{})
	for _, h := range hashes {
		fmt.Println(h.Scheme())
	}
	fmt.Println(err)
	// Output:
	// h1
	// h1
	// zh
	// zh
	// <nil>
}

// This example checks in a pipeline whether the locked providers can be installed.
func ExampleCheck() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) { return repository.NewLayout(layout), nil })
	f, err := lockfile.Parse(lock.Filename, []byte(`provider "registry.opentofu.org/acme/rocket" {
  version = "1.2.0"
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range lock.Check(context.Background(), src, lock.Filename, f, lock.Options{}) {
		for _, finding := range c.Findings {
			fmt.Printf("%s:%d: %s\n", finding.Subject.File, finding.Subject.Line, finding.Message)
			fmt.Println(finding.Code, finding.IsMissing(), finding.Command)
		}
	}
	// Output:
	// .terraform.lock.hcl:1: registry.opentofu.org/acme/rocket 1.2.0 does not exist in the source; existing versions: 1.0.0.
	// lock-version-missing true tofu-oci mirror 'registry.opentofu.org/acme/rocket@1.2.0'
}

// NewSource restricts a source to the packages that lock files select.
func ExampleNewSource() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx := context.Background()
	layout, rebuilt := exampletest.Layout(dir, "1.0.0"), exampletest.LayoutRebuilt(dir, "1.0.0")
	at := func(layout string) provider.Source {
		return oci.New(func(provider.Address) (repository.Reader, error) { return repository.NewLayout(layout), nil })
	}
	wanted, err := provider.ParseRequirement("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	change, err := lock.Directory(ctx, at(layout), dir, lock.FileOptions{Named: []provider.Requirement{wanted}})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := lockfile.Read(change.Path)
	if err != nil {
		fmt.Println(err)
		return
	}
	locked := lock.Union(f.Selections())
	sink, err := pull.NewSink(pull.LayoutPacked, filepath.Join(dir, "plugins"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, layout := range []string{layout, rebuilt} {
		src := lock.NewSource(at(layout), locked, lock.Options{}, nil)
		results, err := pull.Release(ctx, src, sink, locked[0].Address, locked[0].Version, pull.Options{
			Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}},
		})
		_, differs := errors.AsType[*lock.HashError](err)
		fmt.Println(filepath.Base(layout), len(results), differs)
	}
	// Output:
	// layout 1 false
	// layout-rebuilt 0 true
}

// Lock files are found by path, by directory, or by pattern.
func ExampleFind() {
	dir, remove := exampletest.Dir()
	defer remove()
	for _, root := range []string{"live/network", "live/cluster"} {
		path := filepath.Join(dir, root)
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, lock.Filename), nil, 0o600)); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, name := range []string{"live", "live/*/.terraform.lock.hcl", "live/c*"} {
		found, err := lock.Find(context.Background(), filepath.Join(dir, name))
		fmt.Println(name, len(found), errors.Is(err, lock.ErrNoFile))
	}
	// Output:
	// live 2 false
	// live/*/.terraform.lock.hcl 2 false
	// live/c* 0 true
}
