package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/store"
)

// Run starts a command that uses the providers of the lock file in its directory, and
// returns its exit code. In this example, the command is the test program, which exits
// with 3.
func ExampleRun() {
	dir, remove := exampletest.Dir()
	defer remove()
	ctx := context.Background()
	requirement, err := provider.ParseRequirement("acme/rocket@1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := builddir.New(requirement.Address, exampletest.Build(dir, "1.2.3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := lock.Directory(ctx, src, dir, lock.FileOptions{Named: []provider.Requirement{requirement}}); err != nil {
		fmt.Println(err)
		return
	}
	cache, err := store.Open(filepath.Join(dir, "cache"), store.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := exec.Run(ctx, exec.Options{
		Command: []string{os.Args[0]}, Dir: dir, Source: src, Store: cache,
		Platform: provider.Platform{OS: "linux", Arch: "amd64"},
		Environ:  append(os.Environ(), envChild+"=fail"),
	})
	fmt.Println("exit code:", code, err)
	// The next run finds all packages in the cache.
	entries, err := cache.Entries(ctx)
	for _, e := range entries {
		fmt.Println("cached:", e.Kind)
	}
	fmt.Println(err)
	// Output:
	// exit code: 3 <nil>
	// cached: zip
	// cached: mirror
	// <nil>
}
