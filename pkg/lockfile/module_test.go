package lockfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestModuleBlocksStay checks that module blocks, which OpenTofu's RFC 3540 defines for
// future versions, are kept unchanged.
func TestModuleBlocksStay(t *testing.T) {
	t.Parallel()
	const modules = `# locked by a later OpenTofu
module "registry.opentofu.org/acme/vpc/aws" {
  version = "1.2.3"
  hashes  = ["h1:AAA=", "zh:bbb"]
}

module "git::https://example.com/x.git?ref=v1" { hashes = ["h1:CCC="] }
`
	const first, last = `provider "registry.opentofu.org/acme/a" {
  version = "1.0.0"
}
`, `provider "registry.opentofu.org/acme/z" {
  version = "1.0.0"
}
`
	for name, text := range map[string]string{
		"before": modules + "\n" + first + "\n" + last, "between": first + "\n" + modules + "\n" + last, "after": first + "\n" + last + "\n" + modules,
	} {
		f, err := lockfile.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Selections() {
			if s.Version, err = provider.ParseVersion("2.0.0"); err != nil {
				t.Fatal(err)
			}
			f.Set(s)
		}
		m, err := provider.ParseAddress("acme/m")
		if err != nil {
			t.Fatal(err)
		}
		f.Set(lockfile.Selection{Address: m, Version: f.Selections()[0].Version})
		for _, s := range f.Selections() {
			f.Remove(s.Address)
		}
		if diff := cmp.Diff(modules, string(f.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
