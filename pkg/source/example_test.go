package source_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// Resolve returns the versions that match a user's requirement.
func ExampleResolve() {
	dir, remove := exampletest.Dir()
	defer remove()
	layout := exampletest.Layout(dir, "1.0.0", "1.1.0", "1.2.0-beta1", "2.0.0")
	src := oci.New(func(provider.Address) (repository.Reader, error) {
		return repository.NewLayout(layout), nil
	})
	const newest = 1
	for _, text := range []string{"acme/rocket", "acme/rocket@~> 1.0", "acme/rocket@1.2.0-beta1", "acme/rocket@> 2.0.0"} {
		wanted, err := provider.ParseRequirement(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		versions, err := source.Resolve(context.Background(), src, wanted, newest)
		fmt.Println(versions, errors.Is(err, provider.ErrVersionNotFound))
	}
	// Output:
	// [2.0.0] false
	// [1.1.0] false
	// [1.2.0-beta1] false
	// [] true
}

// A server queries an origin registry once every few minutes, regardless of the number
// of clients.
func ExampleNewMemo() {
	server := exampletest.NewOrigin("1.0.0")
	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	src := source.NewMemo(origin.New(origin.Options{HTTP: server.Client(), Services: server.Services()}), 5*time.Minute)
	fmt.Println(src.Versions(context.Background(), address))

	server.Close() // cached values are valid until they expire
	fmt.Println(src.Versions(context.Background(), address))
	// Output:
	// [1.0.0] <nil>
	// [1.0.0] <nil>
}
