package sync_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// This example reads a declaration, and prints the selected providers and one
// provider's settings.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "mirror.hcl")
	err = os.WriteFile(path, []byte(`version = 1

target "main" {
  repository = "ghcr.io/acme/providers/{namespace}/{type}"
}
defaults {
  min_age = "7d"
}
provider "hashicorp/aws" {
  versions = "~> 6.0"
  latest   = 3
}
`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}

	d, err := sync.Read(path, os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	wanted, problems := d.Wanted(context.Background(), nil)
	for _, w := range wanted {
		fmt.Println(w.Address, w.Requirements[0].Constraint, len(problems))
	}
	aws := provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "aws"}
	for _, s := range d.Explain(aws)[:6] {
		fmt.Printf("%s = %s (%s)\n", s.Name, s.Value, filepath.Base(s.Position))
	}
	// Output:
	// registry.opentofu.org/hashicorp/aws ~> 6.0 0
	// versions = ~> 6.0 (mirror.hcl:10)
	// latest = 3 (mirror.hcl:11)
	// per_minor = all (default)
	// prereleases = false (default)
	// platforms = all (default)
	// min_age = 7d (mirror.hcl:7)
}
