package sync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
)

// TestPrecedence checks that each argument is read from the most specific block that
// contains it.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	d, err := parse(minimal + `
provider "registry.terraform.io/*/*" {
  latest  = 0
  min_age = "1h30m"
}
provider "registry.terraform.io/hashicorp/*" {
  latest    = 3
  platforms = ["linux_amd64", "windows_386"]
}
provider "registry.terraform.io/hashicorp/aws" {
  platforms = "all"
  versions  = "~> 5.0"
  per_minor = "all"
  alias     = []
}
provider "*/*" {
  stage = true
}
defaults {
  min_age     = "7d"
  per_minor   = 2
  latest      = "all"
  prereleases = true
  signatures  = "require"
  alias       = ["hashicorp/*=registry.terraform.io/hashicorp/*"]
}
`)
	if err != nil {
		t.Fatal(err)
	}
	const alias = "registry.opentofu.org/hashicorp/*=registry.terraform.io/hashicorp/*"
	for address, want := range map[string][]sync.Setting{
		"registry.terraform.io/hashicorp/aws": {
			{"versions", "~> 5.0", "mirror.hcl:16"}, {"latest", "3", "mirror.hcl:11"}, {"per_minor", "all", "mirror.hcl:17"},
			{"prereleases", "true", "mirror.hcl:27"}, {"platforms", "all", "mirror.hcl:15"}, {"min_age", "1h30m", "mirror.hcl:8"},
			{"signatures", "require", "mirror.hcl:28"}, {"key_change", "hold", "default"}, {"attestations", "off", "default"}, {"sbom", "off", "default"}, {"stage", "false", "default"}, {"targets", "main", "default"}, {"alias", "none", "mirror.hcl:18"},
		},
		"registry.terraform.io/acme/rocket": {
			{"versions", "any", "default"}, {"latest", "0", "mirror.hcl:7"}, {"per_minor", "2", "mirror.hcl:25"},
			{"prereleases", "true", "mirror.hcl:27"}, {"platforms", "all", "default"}, {"min_age", "1h30m", "mirror.hcl:8"},
			{"signatures", "require", "mirror.hcl:28"}, {"key_change", "hold", "default"}, {"attestations", "off", "default"}, {"sbom", "off", "default"}, {"stage", "false", "default"}, {"targets", "main", "default"}, {"alias", alias, "mirror.hcl:29"},
		},
		"registry.terraform.io/hashicorp/null": {
			{"versions", "any", "default"}, {"latest", "3", "mirror.hcl:11"}, {"per_minor", "2", "mirror.hcl:25"},
			{"prereleases", "true", "mirror.hcl:27"}, {"platforms", "linux_amd64, windows_386", "mirror.hcl:12"}, {"min_age", "1h30m", "mirror.hcl:8"},
			{"signatures", "require", "mirror.hcl:28"}, {"key_change", "hold", "default"}, {"attestations", "off", "default"}, {"sbom", "off", "default"}, {"stage", "false", "default"}, {"targets", "main", "default"}, {"alias", alias, "mirror.hcl:29"},
		},
		"hashicorp/aws": {
			{"versions", "any", "default"}, {"latest", "all", "mirror.hcl:26"}, {"per_minor", "2", "mirror.hcl:25"},
			{"prereleases", "true", "mirror.hcl:27"}, {"platforms", "all", "default"}, {"min_age", "7d", "mirror.hcl:24"},
			{"signatures", "require", "mirror.hcl:28"}, {"key_change", "hold", "default"}, {"attestations", "off", "default"}, {"sbom", "off", "default"}, {"stage", "true", "mirror.hcl:21"}, {"targets", "main", "default"}, {"alias", alias, "mirror.hcl:29"},
		},
	} {
		a := nouns.Address(t, address)
		if diff := cmp.Diff(want, d.Explain(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
		if s := d.Settings(a); s.None != (want[1].Value == "0") {
			t.Errorf("%s: None is %t", address, s.None)
		}
	}
}
