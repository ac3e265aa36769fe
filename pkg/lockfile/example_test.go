package lockfile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// This example changes the version of a provider. Comments are kept.
func Example() {
	const text = `# Reviewed by the platform team.

provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.2" # the newest that works
  hashes = [
    "h1:zHRGfYE4BYFTlgxAt+IcaZkuVVDZIDMEjPyDkK6Vs7g=",
  ]
}
`
	f, err := lockfile.Parse(".terraform.lock.hcl", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range f.Selections() {
		if s.Version, err = provider.ParseVersion("3.2.3"); err != nil {
			fmt.Println(err)
			return
		}
		if s.Constraints, err = provider.ParseConstraint("~>3.2"); err != nil {
			fmt.Println(err)
			return
		}
		s.Hashes = []lockfile.Hash{"zh:0012", "h1:IUxkL80vwAwrSZD9YThR0mwPlgZTouNIPhMWdQKqdKg="}
		f.Set(s)
	}
	fmt.Print(string(f.Bytes()))
	// Output:
	// # Reviewed by the platform team.
	//
	// provider "registry.opentofu.org/hashicorp/null" {
	//   version     = "3.2.3" # the newest that works
	//   constraints = "~> 3.2"
	//   hashes = [
	//     "h1:IUxkL80vwAwrSZD9YThR0mwPlgZTouNIPhMWdQKqdKg=",
	//     "zh:0012",
	//   ]
	// }
}

// Update locks the file during the change, and creates it if necessary.
func ExampleUpdate() {
	dir, err := os.MkdirTemp("", "configuration")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, ".terraform.lock.hcl")
	a, err := provider.ParseAddress("hashicorp/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := provider.ParseVersion("3.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		changed, err := lockfile.Update(context.Background(), path, func(f *lockfile.File) error {
			f.Set(lockfile.Selection{Address: a, Version: v})
			return nil
		})
		fmt.Println("changed:", changed, err)
	}
	f, err := lockfile.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(f.Bytes()))
	// Output:
	// changed: true <nil>
	// changed: false <nil>
	// # This file is maintained automatically by "tofu init".
	// # Manual edits may be lost in future updates.
	//
	// provider "registry.opentofu.org/hashicorp/null" {
	//   version = "3.2.3"
	// }
}
