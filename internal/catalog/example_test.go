package catalog_test

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// The paths of these image layouts don't contain the provider's host, so List reads the
// annotations of the releases.
func ExampleList() {
	dir, remove := exampletest.Dir()
	defer remove()
	exampletest.Layout(dir, "1.0.0")
	from, err := template.Parse("oci-layout:" + filepath.ToSlash(dir) + "/layout")
	if err != nil {
		fmt.Println(err)
		return
	}
	listing, err := catalog.List(context.Background(), from, catalog.Options{
		Open: func(ref template.Reference) (repository.Reader, error) { return repository.NewLayout(ref.Layout), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range listing.Entries {
		fmt.Println(e.Address)
	}
	// Output:
	// registry.opentofu.org/acme/rocket
}
