package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// In this example, a cleanup job has deleted an untagged manifest. The finding
// describes how to restore the manifest.
func ExampleRepository() {
	dir, remove := exampletest.Dir()
	defer remove()
	path := exampletest.Layout(dir, "1.0.0")
	ctx := context.Background()
	index, err := repository.Inspect(ctx, repository.NewLayout(path), "1.0.0", repository.DepthIndex)
	if err != nil {
		fmt.Println(err)
		return
	}
	lost := index.Index.Targets[0].Descriptor.Digest
	if err := os.Remove(filepath.Join(path, "blobs", "sha256", lost.Encoded())); err != nil {
		fmt.Println(err)
		return
	}

	wanted, err := provider.ParseRequirement("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	where, err := template.Parse("ghcr.io/acme/providers/{type}") // used in remedies
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := verify.Repository(ctx, repository.NewLayout(path), []provider.Requirement{wanted}, verify.Options{Template: where})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Code, f.Subject.Version, f.Subject.Platform)
		fmt.Println(f.Hint)
		fmt.Println(f.Command)
	}
	fmt.Println(report.HasErrors())
	// Output:
	// error manifest-missing 1.0.0 darwin_arm64
	// mirror the release again; if it was copied, copy it again; if you published it, publish the same zips again
	// tofu-oci mirror 'registry.opentofu.org/acme/rocket@1.0.0' --to 'ghcr.io/acme/providers/{type}'
	// true
}
