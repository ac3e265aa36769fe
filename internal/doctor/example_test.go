package doctor_test

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func ExampleCheckConfig() {
	config, err := cliconfig.Parse(".tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${type}"
    include             = ["hashicorp/*"]
  }
  direct {}
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range doctor.CheckConfig(config, nil) {
		fmt.Println(f.Severity, f.Code)
		fmt.Println(f.Hint)
	}
	// Output:
	// warning direct-not-excluded
	// add to the block:
	// exclude = ["registry.opentofu.org/hashicorp/*"]
}

// This example explains why a provider can't be installed: its platform is not
// mirrored.
func ExampleExamine() {
	dir, remove := exampletest.Dir()
	defer remove()
	mirror := repository.NewLayout(exampletest.Layout(dir, "1.0.0"))
	open := func(template.Reference) (repository.Reader, error) {
		return mirror, nil // real programs call repository.Open(ref, repository.Options{})
	}

	config, err := cliconfig.Parse(".tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/providers/${namespace}/${type}"
    include             = ["acme/*"]
  }
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resolver, err := installation.New(installation.Options{Config: config, OCI: func(template.Template) provider.Source {
		return oci.New(func(provider.Address) (repository.Reader, error) { return mirror, nil })
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	wanted, err := provider.ParseRequirement("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := doctor.Examine(context.Background(), doctor.Options{
		Wanted: wanted, Platform: provider.Platform{OS: "plan9", Arch: "arm"},
		Config: config, Installation: resolver, Repository: open, Anonymous: open,
		// Neither tofu-oci nor OpenTofu finds credentials for the repository.
		Login: func(context.Context, string) doctor.Login { return doctor.Login{OpenTofu: true} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Repository, report.Version)
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Code)
	}
	fmt.Println("failed:", doctor.Failed(report.Findings))
	// Output:
	// ghcr.io/providers/acme/rocket 1.0.0
	// error platform-missing
	// failed: true
}

// For an OCI registry, OpenTofu installs a locked version only if the lock file
// contains the zip's zh: hash.
func ExampleCheckLock() {
	file, err := lockfile.Parse(".terraform.lock.hcl", []byte(`
provider "registry.opentofu.org/acme/rocket" {
  version = "1.0.0"
  hashes = [
    "zh:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
  ]
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	platform := provider.Platform{OS: "linux", Arch: "amd64"}
	for _, zip := range []string{"a", "b"} {
		findings := doctor.CheckLock(&file.Selections()[0], platform, digest.FromString(zip))
		fmt.Println(zip, doctor.Failed(findings))
	}
	// Output:
	// a false
	// b true
}
